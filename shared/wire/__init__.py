"""What travels: one strict model a message, one file a conversation."""
