"""Ways between compute parties: channels that carry sealed frames, and links that make them reliable."""
