"""Three-party replicated secret sharing: shares, correlated randomness, sub-protocols as generators.

No I/O, no event loop and no clock: a sub-protocol yields what one round sends and gets what it received. Nothing
here knows trees; `shared.secure_tree` composes these sub-protocols and alone opens results.
"""
