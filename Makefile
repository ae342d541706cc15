# Every target sets up what it needs in .venv; nothing is left running when a target ends or is interrupted.

VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.installed-base
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check --constraint constraints.txt
PACKAGES := shared cloud_service hospital_agent trusted_authority privet
DEMO ?=
TESTS ?=
BENCH ?=

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo test test-long check format bench bench-long clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV) ## make the virtual environment with everything for development

demo: $(BASE) ## grow a tree over three hospitals on this machine (DEMO="--data FILE ...")
	@$(BIN)/privet demo $(DEMO)

test: $(DEV) ## run the tests (TESTS="tests/unit -k name")
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m "not long" $(TESTS)

test-long: $(DEV) ## run the longer proofs
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m long $(TESTS)

check: $(DEV) ## format, lint, types, imports, security lint, migrations up to date
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo --no-cache
	@$(BIN)/bandit --quiet --configfile pyproject.toml --recursive $(PACKAGES)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && \
	  $(BIN)/privet cloud init "$$folder/cloud" >/dev/null && \
	  $(BIN)/privet cloud migrate "$$folder/cloud" >/dev/null && \
	  $(BIN)/privet cloud migrate "$$folder/cloud" --check

format: $(DEV) ## write the format and the fixes that ruff knows
	@$(BIN)/ruff check --quiet --fix .
	@$(BIN)/ruff format --quiet .

bench: $(DEV) ## measure speed and traffic (BENCH="--help")
	@$(BIN)/python -m bench $(BENCH)

bench-long: $(DEV) ## measure mode gain-ratio up to a million rows
	@$(BIN)/python -m bench gain-ratio --long $(BENCH)

clean: ## remove the virtual environment and all caches
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .bench build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# The first interpreter of a supported version that really runs (a name may be there without one behind it).
$(BIN)/python:
	@for name in python3.13 python3.12 python3.11 python3; do \
	  if $$name -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' >/dev/null 2>&1; then \
	    echo "making $(VENV) with $$name"; exec $$name -m venv $(VENV); \
	  fi; \
	done; \
	echo "Python 3.11, 3.12 or 3.13 is needed: install one (with its venv module) and run make again" >&2; exit 1

# The build backend is installed first and pinned like the rest, so that nothing unpinned builds the package. The
# extra brings the records on which the demo of mode gain-ratio trains.
$(BASE): pyproject.toml constraints.txt | $(BIN)/python
	@echo "installing Privet into $(VENV)"
	@$(PIP) hatchling editables
	@$(PIP) --no-build-isolation --editable '.[sklearn]'
	@touch $@

$(DEV): $(BASE)
	@echo "installing the development tools into $(VENV)"
	@$(PIP) --no-build-isolation --editable '.[dev]'
	@touch $@
