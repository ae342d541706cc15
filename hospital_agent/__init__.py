"""The hospital's agent: opens outbound connections only, and no record leaves it."""
