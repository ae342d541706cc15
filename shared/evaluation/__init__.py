"""How good a tree is, from counts alone: leaf by true class, summed over hospitals before anybody sees them.

Pure functions. Counts stay whole numbers, scores stay fractions as long as anything is decided by them (an order, a
bin, a threshold); floats are made last, for people. What 0/0 would be is None with a reason, never NaN.
"""
