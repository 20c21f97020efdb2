"""The native kernels again in plain numpy, module by module: their meaning and test oracle, never production."""
