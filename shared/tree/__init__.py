"""Decision-tree mathematics on plain counts, and the oracle that every secure mode is held against.

Everything here is pure: integers in, integers out, no clock, no file, no randomness. A float or a decimal
appears only where a figure is shown to a person, never where something is decided (protocol section 4).
"""
