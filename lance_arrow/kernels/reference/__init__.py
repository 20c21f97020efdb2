"""The native kernels again, in plain numpy and one module each: their meaning and their test oracle, never production."""
