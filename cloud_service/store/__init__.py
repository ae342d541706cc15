"""What the cloud keeps: tables, and one module of queries for each subject. No rules of the protocol here."""
