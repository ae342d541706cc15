"""The dashboard: HTML for people who sign in at the cloud.

No rule lives here: pages ask the same use cases as `api`, and permissions decide what they show.
"""
