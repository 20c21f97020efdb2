"""`manifest_contents`: small manifests of many versions, read together."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence

import numpy as np

from lance_arrow.io import Location, list_sizes, read_small_files, reads_small_files
from lance_arrow.manifests.manifest import TAIL_BYTES
from lance_arrow.manifests.versions import VERSIONS, ManifestFile
from lance_arrow.runtime import default_runtime

READ_AT_ONCE = 256
"""Manifests that callers read together: their bytes are held at once."""


def manifest_contents(
    line: Location, manifests: Sequence[ManifestFile], sizes: Mapping[str, int | None] | None = None
) -> dict[int, memoryview]:
    """Read small manifests together, as far as they can be; the others are left to be read one by one.

    Parameters
    ----------
    line
        Folder of the table, or of its branch.
    manifests
        Its manifests.
    sizes
        Bytes of the files in the folder of manifests by name, if they are known; a local folder is listed else.

    Returns
    -------
    dict
        By version the bytes of its manifest's file.
    """
    if not reads_small_files(line.given):
        return {}
    folder = posixpath.join(line.path, VERSIONS)
    if sizes is None:
        sizes = (
            list_sizes(line.given, folder) if line.is_local else {str(one.name): one.size_bytes for one in manifests}
        )
    lengths = [sizes.get(str(one.name)) or 0 for one in manifests]
    small = [at for at, size in enumerate(lengths) if 0 < size <= TAIL_BYTES]
    if not small:
        return {}
    runtime = default_runtime()
    wanted = np.array([lengths[at] for at in small], np.int64)
    paths = [f"{folder}/{manifests[at].name}" for at in small]
    data, starts, flags = read_small_files(
        line.given, paths, wanted, runtime.side_by_side, runtime.settings.num_threads
    )
    places = zip(small, starts.tolist(), wanted.tolist(), flags.tolist(), strict=True)
    return {manifests[at].version: data[start : start + size].data for at, start, size, is_read in places if is_read}
