"""The agent's loop: fetch, step, journal, act. Start at `loop.Daemon`."""
