"""The ten invariants of the threat model as runnable checks: `make invariants`, or `python -m tests.invariants`.

Here are the checks that exist for an invariant alone; `__main__` names, for each, all checks that hold it, with the
controls that show that they would notice.
"""
