"""Use cases: load, step, record and commit in one transaction, then wake whoever waits for it."""
