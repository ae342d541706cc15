"""HTTP and nothing else: bytes to use cases, results to JSON, errors to problem documents."""
