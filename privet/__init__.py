"""The one command: joins the programs, prints their reports and their errors; and the demonstration."""
