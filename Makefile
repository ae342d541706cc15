# Every target sets up what it needs in .venv; nothing is left running when a target ends or is interrupted.

VENV := .venv
BIN := $(VENV)/bin
BASE := $(VENV)/.installed-base
DEV := $(VENV)/.installed-dev
PIP := $(BIN)/python -m pip install -qq --disable-pip-version-check
# uv is several times as fast; pip stays in charge where its settings name an index of the house, which uv does not read.
INSTALL = if [ -z "$$PIP_INDEX_URL" ] && ! $(BIN)/python -m pip config list | grep -q '[.]index-url' \
    && $(PIP) --require-hashes -r requirements/installer.txt \
    && $(BIN)/uv pip install --quiet --python $(BIN)/python --require-hashes -r $(1); then :; \
  else $(PIP) --require-hashes -r $(1); fi
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header \
  --no-emit-index-url --constraint constraints.txt pyproject.toml
PACKAGES := shared machine cloud_service hospital_agent trusted_authority privet
DEMO ?=
TESTS ?=
BENCH ?=

# Compiled modules are kept, whatever the machine is set to: the tests start hundreds of programs, and each would
# compile all it imports anew, which takes twice the rest of a start.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help setup demo docs services judges test test-long invariants check format bench bench-long lock wheel sbom licences audit clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(DEV) ## make the virtual environment with everything for development

demo: $(BASE) ## grow a tree over three hospitals on this machine (DEMO="--data FILE ...")
	@$(BIN)/privet demo $(DEMO)

docs: $(DEV) ## build the documentation site into dist/docs; it needs no network, neither to build nor to read
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict
	@echo "dist/docs; to read it with its search: $(BIN)/python -m http.server --directory dist/docs --bind 127.0.0.1 8000"

# Debian's programs that some tests are about; without them those tests skip and say so. RUNLEVEL keeps the packages from
# starting anything.
services: ## install nginx, squid, chromium and the like for the tests, as root and where CI=true
	@if [ "$(CI)" = true ] && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
	  export DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 PATH="$$PATH:/usr/sbin:/sbin"; \
	  missing=$$(for pair in nginx:nginx-light squid:squid systemd-analyze:systemd psql:postgresql-client chromium:chromium wrk:wrk; do \
	    command -v $${pair%:*} >/dev/null || echo $${pair#*:}; done); \
	  if [ -n "$$missing" ]; then \
	    { apt-get update -qq && apt-get install -qq -y --no-install-recommends $$missing; } >/dev/null 2>&1 \
	      || echo "could not install $$missing; their tests will skip"; \
	  fi; \
	fi

# The evaluator is under the AGPL, and the others need older libraries than ours, so all stay out of the environment;
# tests skip without them.
judges: $(DEV) ## fetch outside judges for tests: of PMML with its schema, of CDS Hooks (a client), of FHIR R4 4.0.1
	@$(PIP) --no-deps --target $(VENV)/jpmml jpmml-evaluator==0.16.0
	@$(BIN)/python -m venv $(VENV)/healthchain
	@$(VENV)/healthchain/bin/python -m pip install -qq --disable-pip-version-check healthchain==0.16.1
	@$(BIN)/python -m venv $(VENV)/fhir-r4
	@$(VENV)/fhir-r4/bin/python -m pip install -qq --disable-pip-version-check \
	  fhirclient==4.4.0 fhir.resources==6.2.2 "pydantic<2"

# More workers than processors: many tests wait for one another's programs, which leaves a quarter of two idle.
test: $(DEV) services ## run the tests (TESTS="tests/unit -k name")
	@$(BIN)/python -m pytest -q -n 3 --dist loadgroup -m "not long" $(TESTS)

test-long: $(DEV) ## run the longer proofs
	@$(BIN)/python -m pytest -q -n 2 --dist loadgroup -m long $(TESTS)

invariants: $(DEV) ## check the ten invariants of the threat model, one line each
	@$(BIN)/python -m tests.invariants

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

lock: $(DEV) ## pin every dependency with its hashes, after a change of pyproject.toml or constraints.txt
	@$(subst pyproject.toml,,$(LOCK)) requirements/installer.in -o requirements/installer.txt
	@$(LOCK) requirements/build.in --extra sklearn -o requirements/demo.txt
	@$(LOCK) requirements/build.in --extra dev -o requirements/dev.txt
	@$(LOCK) --extra postgres --extra otel -o requirements/cloud.txt
	@$(LOCK) --extra dp --extra excel --extra export --extra fhir --extra otel --extra postgres --extra sql -o requirements/agent.txt

wheel: $(DEV) ## build the wheel into dist, bit for bit the same from the same commit
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m hatchling build -t wheel -d dist
	@cd dist && sha256sum *.whl

sbom: $(DEV) ## list what an installation of the cloud and of an agent consists of, into dist (CycloneDX)
	@mkdir -p dist
	@for name in cloud agent; do \
	  $(BIN)/cyclonedx-py requirements requirements/$$name.txt --pyproject pyproject.toml --output-reproducible \
	    --validate -o dist/$$name.cdx.json && echo "dist/$$name.cdx.json"; done

licences: $(DEV) ## list every dependency's licence; fails on one that is not allowed
	@$(BIN)/python deploy/supply_chain/licences.py

audit: $(DEV) ## ask the advisory service for known weaknesses of the pinned dependencies (needs the network)
	@for name in cloud agent; do \
	  $(BIN)/pip-audit --strict --disable-pip --require-hashes -r requirements/$$name.txt || exit 1; done

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

# Every dependency comes with its hash; Privet itself is installed from this folder. The demo's requirements bring the
# records on which it trains in mode gain-ratio, and the build backend.
$(BASE): pyproject.toml requirements/demo.txt | $(BIN)/python
	@echo "installing Privet into $(VENV)"
	@$(call INSTALL,requirements/demo.txt)
	@$(PIP) --no-deps --no-build-isolation --editable .
	@touch $@

$(DEV): $(BASE) requirements/dev.txt
	@echo "installing the development tools into $(VENV)"
	@$(call INSTALL,requirements/dev.txt)
	@touch $@
