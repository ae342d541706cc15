"""What a job would cost and show before anybody starts it, and which mode fits: the mode advisor. Pure, no numpy.

- `case`: what is known beforehand: hospitals, records (roughly), the schema, depth, the key, the line between them;
- `shape`: the largest tree that these allow, level by level;
- `paillier`, `shares`: bytes, rounds, exponentiations and seconds of each mode, from the tables of
  `docs/performance.md`; a test holds every estimate to the figures measured there;
- `fitting`: what keeps a mode from this study, and what speaks for it, in the words of `words`;
- `advising`: the modes side by side, with the forecast of `shared.protocol.disclosure`.
"""
