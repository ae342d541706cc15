"""The pages of a hospital, on loopback: what leaves the house, what came in, and a patient to try."""
