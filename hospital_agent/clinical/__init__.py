"""How clinical systems ask: CDS Hooks, and FHIR resources read by a declared mapping.

- `services`: the file that names services, mappings and clients; `paths`: FHIRPaths of mappings;
- `hooks`, `prefetch`, `cards`, `clients`, `ledger`: CDS Hooks 2.0;
- `predicting`: predictions for FHIR resources; `asking`: from a record to the model's answer;
- `asked`, `outcomes`: what comes in, and how errors go out; `installing`: all of it beside the local API.

How resources become a record is pure and stands in `shared.contract.fhir`.
"""

from __future__ import annotations

from hospital_agent.clinical.installing import install
from hospital_agent.clinical.ledger import Ledger
from hospital_agent.clinical.services import Clinical, load_services, parse_mapping, read_mapping

__all__ = ["Clinical", "Ledger", "install", "load_services", "parse_mapping", "read_mapping"]
