import numpy as np
from numpy.typing import NDArray

def smallest_step(rows: NDArray[np.int64], num_rows: int) -> int: ...
