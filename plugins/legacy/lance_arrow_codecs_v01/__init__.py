"""Pages of 0.1, one module per case of `LegacyPage`: array encodings, described by the container."""
