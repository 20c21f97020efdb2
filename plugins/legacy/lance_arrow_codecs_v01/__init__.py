"""What pages of 0.1 are, one module per case of `LegacyPage`: array encodings in the words of the container."""
