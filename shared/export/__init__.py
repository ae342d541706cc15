"""A finished tree in the forms that other programs and people read; one module a form, pure text or bytes.

`subject` is what is exported and where it came from, with everything left out that its study does not show;
`conditions` and `compiled` are what the forms have in common. All forms answer as `shared.tree.prediction` does.
"""

from __future__ import annotations

from typing import Literal

FormatName = Literal["json", "pmml", "onnx", "sklearn", "rules", "dot", "svg", "python"]
"""What a command offers; `formats` has the forms themselves."""
