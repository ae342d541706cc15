"""A hospital's part in a secret job: sharing its rows, and, as a compute party, running the program on shares."""
