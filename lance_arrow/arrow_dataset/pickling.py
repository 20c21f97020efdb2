"""Pickling of pyarrow's own classes when the format behind them is ours; other formats pickle as before.

pyarrow finds the Python class of a format in a fixed list without ours, so its own ``__reduce__`` fails. `copyreg` is
asked first by pickle, cloudpickle, multiprocessing and copy. A partitioning object is not kept (nor is it for
Parquet), partition expressions are.
"""

from __future__ import annotations

import copyreg

from pyarrow.dataset import FileSystemDataset, Fragment

from lance_arrow.arrow_dataset.bridge.loading import bridge
from lance_arrow.arrow_dataset.dataset_parts import put_together, take_apart
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment


def reduce_dataset(dataset: FileSystemDataset) -> str | tuple[object, ...]:
    """Take apart a dataset of any format."""
    if bridge.format_of(dataset) is None:
        return dataset.__reduce__()
    return put_together, (FileSystemDataset, take_apart(dataset))


def reduce_fragment(fragment: Fragment) -> str | tuple[object, ...]:
    """Take apart a fragment whose class pyarrow could not tell; it comes back as `LanceFileFragment`."""
    if bridge.is_lance_fragment(fragment):
        return LanceFileFragment.from_fragment(fragment).__reduce__()
    return fragment.__reduce__()


copyreg.pickle(FileSystemDataset, reduce_dataset)  # type: ignore[arg-type]
copyreg.pickle(Fragment, reduce_fragment)
