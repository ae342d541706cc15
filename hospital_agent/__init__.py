"""The hospital's agent: records leave it as encrypted counts or as secret shares, never as they are."""
