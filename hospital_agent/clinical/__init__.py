"""How clinical systems ask: CDS Hooks, and FHIR resources read by a declared mapping."""
