"""How fast Privet is, how far from its floor, and how cost grows. Run `python -m bench --help`; nothing here ships."""
