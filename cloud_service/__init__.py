"""The cloud: prompts hospitals, adds what they encrypt, returns the sums. It never holds p, q or G."""
