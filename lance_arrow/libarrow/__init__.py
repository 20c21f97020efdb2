"""Arrow's own C++ libraries as a table of C functions, for the engine, which is not linked to them.

`functions.cpp` fills the table: memory of results from Arrow's pools, and batches of the C data interface as objects of
pyarrow. `engine/arrays/arrow_functions.hpp` declares it. It is built once for each pyarrow X.Y. `builds` finds such
builds, also those of the bridge, and loads the one that fits. The engine works without one.

Forbidden here: anything that Arrow's C data interface or a codec of Arrow does not do.
"""
