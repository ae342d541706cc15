"""The tree's counts under cover: packing, masks, tag and sums (protocol sections 5 and 6)."""
