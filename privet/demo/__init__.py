"""`privet demo`: a whole federation on one machine, from its founding to the signed tree, and nothing left behind."""

from privet.demo.command import app

__all__ = ["app"]
