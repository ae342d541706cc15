"""A data contract at work: its texts to values, its schema, several drafts to one. Pure, and blind to patients."""
