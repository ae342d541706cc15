"""Keys, signatures, ciphertexts and key derivation; nothing here knows trees or messages."""
