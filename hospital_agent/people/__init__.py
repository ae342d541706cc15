"""What people of this hospital are told and what they say, alike by a command and by a page.

Nothing here prints, and nothing knows HTTP. Words are signed with this hospital's own key and journalled; the running
agent brings them to the cloud.
"""
