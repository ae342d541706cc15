"""The commands of `privet agent`, by subject; each returns a report and prints nothing on standard output."""
