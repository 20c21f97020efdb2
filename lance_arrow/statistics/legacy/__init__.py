"""Zone maps from the batch statistics of 0.1 files."""
