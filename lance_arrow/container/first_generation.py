"""Files of the first generation (0.1): another container, recognised by its footer and refused with the reason."""

from __future__ import annotations

from lance_arrow.container.footer import FileFooter, FileVersion
from lance_arrow.errors import UnsupportedError


def refuse_first_generation(footer: FileFooter) -> None:
    """Raise for a file of the first generation, do nothing for any other.

    Raises
    ------
    UnsupportedError
        The file's container is a page table, of which nothing here applies.
    """
    if footer.version is FileVersion.V0_1:
        raise UnsupportedError(
            "files of version 0.1 (page tables and a manifest instead of column metadata) cannot be read yet",
            detail=footer.version.value,
        )
