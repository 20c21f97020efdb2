"""Zone maps out of what files of 0.1 tell of their batches."""
