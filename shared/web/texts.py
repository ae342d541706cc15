"""The texts of pages: those of `shared.texts`, under the name that pages know."""

from shared.texts import text, texts

__all__ = ["text", "texts"]
