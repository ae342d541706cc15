"""Mode G: the gain-ratio tree of numeric records on shares (protocol section 11), grown, opened and used.

`training` runs the layers, `plan` holds what is public, `shared_tree` what comes out, `prediction` applies it. The
trainer is told in `docs/architecture.md`; each module is one stage of a layer.

A layer's groups sit in *slots*: slot s of layer k has its kids in slots 2s and 2s+1 of layer k+1. A leaf hands all of
its records to slot 2s, so no program ever learns which slots are in use, and sizes depend on public numbers only.
"""
