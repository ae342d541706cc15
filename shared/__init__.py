"""What every Privet program knows: messages, keys, tree mathematics, protocol steps.

Nothing in here opens a file, a socket or a clock, or draws hidden randomness.
"""
