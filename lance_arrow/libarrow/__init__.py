"""What is linked to Arrow's own C++ libraries, and needs no dataset: built once for each pyarrow X.Y.

- `functions.cpp`: a table of C functions for the engine, which is not linked to them. It takes memory of results from
  Arrow's pools, and makes objects of pyarrow of the C data interface. `engine/arrays/arrow_functions.hpp` declares it.
  The engine works without one.
- `_expressions`: reads, binds and evaluates expressions; `expressions` loads it.
- `builds`: finds such builds, also those of the bridge, and loads the one that fits.

Forbidden here: anything of pyarrow.dataset, which takes longer to import than pyarrow.
"""
