"""What was found in a table before any study: kinds, values, and what a data steward should do about them.

For the hospital's own eyes. Still every number of rows is told only at or above a floor (`shown`), because a page
like this is passed on.
"""
