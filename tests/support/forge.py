"""A forge of Lance files: pages made by hand, put into a container made by hand, read at every door.

A *good* file is read equal first, by us and (where it is of an ordinary kind) by the reference package; a `Bad` one
differs from it in one thing and must be refused with the right error, which says where.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as pads
import pytest
from craft import Craft, column, described, page
from google.protobuf.message import Message

import lance_arrow
from lance_arrow.errors import CorruptFileError, CorruptPageError, LanceError

ALIGNMENT = 64
VERSIONS = {"2.0": (0, 3), "2.1": (2, 1), "2.2": (2, 2), "2.3": (2, 3)}


@dataclass(frozen=True)
class Page:
    """One page: its layout message, its buffers, its length."""

    layout: Message
    buffers: tuple[bytes, ...]
    num_rows: int

    def with_buffer(self, number: int, content: bytes) -> Page:
        """The same page with another buffer; negative numbers count from the last."""
        buffers = list(self.buffers)
        buffers[number] = content
        return replace(self, buffers=tuple(buffers))

    def patched(self, number: int, at: int, content: bytes) -> Page:
        """The same page with bytes overwritten; a negative place counts from the end of the buffer."""
        old = self.buffers[number]
        at %= len(old)
        assert at + len(content) <= len(old)
        return self.with_buffer(number, old[:at] + content + old[at + len(content) :])

    def with_layout(self, path: str, value: Any) -> Page:
        """The same page with a field of its description (a dotted path) set, replaced, or cleared by None."""
        layout = deepcopy(self.layout)
        *above, name = path.split(".")
        message = layout
        for step in above:
            message = getattr(message, step)
        message.ClearField(name)
        if isinstance(value, Message):
            getattr(message, name).CopyFrom(value)
        elif isinstance(value, (tuple, list)):
            getattr(message, name).extend(value)
        elif value is not None:
            setattr(message, name, value)
        return replace(self, layout=layout)


@dataclass(frozen=True)
class Forged:
    """A file: its table as it must be read, and the pages of each physical column."""

    table: pa.Table
    columns: tuple[tuple[Page, ...], ...]
    version: str = "2.2"
    num_rows: int | None = None
    container: Callable[[Craft], None] | None = field(default=None, compare=False)

    def with_page(self, change: Page, column: int = 0, number: int = 0) -> Forged:
        """The same file with another page."""
        pages = list(self.columns[column])
        pages[number] = change
        columns = list(self.columns)
        columns[column] = tuple(pages)
        return replace(self, columns=tuple(columns))

    @property
    def page(self) -> Page:
        """Its first page."""
        return self.columns[0][0]

    def craft(self) -> Craft:
        """The container, with the buffers of all pages in its data region."""
        data, metas = bytearray(), []
        for pages in self.columns:
            messages = []
            for one in pages:
                offsets = []
                for buffer in one.buffers:
                    offsets.append(len(data))
                    data += buffer + b"\x48" * (-len(buffer) % ALIGNMENT)
                name = one.layout.DESCRIPTOR.full_name
                encoding = described(name, one.layout.SerializeToString())
                messages.append(page(one.num_rows, offsets, [len(buffer) for buffer in one.buffers], encoding))
            metas.append(column(*messages))
        crafted = Craft(
            schema=self.table.schema,
            columns=metas,
            num_rows=self.table.num_rows if self.num_rows is None else self.num_rows,
            data=bytes(data),
            version=VERSIONS[self.version],
        )
        if self.container is not None:
            self.container(crafted)
        return crafted

    def build(self) -> bytes:
        """The bytes of the file."""
        return self.craft().build()


@dataclass(frozen=True)
class Bad:
    """A file that must be refused.

    Parameters
    ----------
    name
        Test id, and the key in docs/format/checks.md.
    make
        Makes the file.
    error
        What is raised; subclasses count, except that damage must not pass for another kind.
    known
        Which places the error must name besides the file: ``column``, ``page``, ``byte_range``.
    take
        Rows of the take that must be refused as well; none where a take does not read what is wrong.
    doors
        Reads that raise this error, of ``scan``, ``take`` and ``dataset``.
    """

    name: str
    make: Callable[[], Forged | bytes]
    error: type[LanceError] = CorruptPageError
    known: tuple[str, ...] = ("column", "page", "byte_range")
    take: tuple[int, ...] = (0, 1, 2)
    doors: tuple[str, ...] = ("scan", "take", "dataset")

    def content(self) -> bytes:
        made = self.make()
        return made if isinstance(made, bytes) else made.build()


def bad(
    name: str,
    file: Forged,
    change: Page | Callable[[], Page],
    error: type[LanceError] = CorruptPageError,
    **options: Any,
) -> Bad:
    """A file with one page changed."""
    return Bad(name, lambda: file.with_page(change() if callable(change) else change), error, **options)


def bad_container(
    name: str, make: Callable[[], bytes | Forged], error: type[LanceError] = CorruptFileError, *known: str
) -> Bad:
    """A file whose container is wrong: no page is to blame."""
    return Bad(name, make, error, known)


def ids(cases: Sequence[Any]) -> list[str]:
    return [case.name for case in cases]


def scan(path: Path) -> pa.Table:
    with lance_arrow.LanceFile(path) as file:
        return file.read()


def take(path: Path, rows: Sequence[int]) -> pa.Table:
    with lance_arrow.LanceFile(path) as file:
        return file.take(list(rows))


def dataset(path: Path) -> pa.Table:
    return pads.dataset(path, format=lance_arrow.LanceFormat()).to_table()


def assert_refused(case: Bad, folder: Path) -> None:
    """Require the error, with its places, from a scan, a take and the pyarrow dataset."""
    path = folder / "bad.lance"
    content = case.content()
    path.write_bytes(content)
    doors = {"scan": lambda: scan(path), "take": lambda: take(path, case.take), "dataset": lambda: dataset(path)}
    for door in case.doors if case.take else set(case.doors) - {"take"}:
        read = doors[door]
        with pytest.raises(LanceError) as caught:
            read()
        error = caught.value
        assert isinstance(error, case.error), f"{door}: {error!r}"
        assert error.path == str(path), f"{door}: {error!r}"
        if "column" in case.known:
            assert error.column, f"{door}: {error!r}"
        if "page" in case.known:
            assert error.page is not None, f"{door}: {error!r}"
        if "byte_range" in case.known:
            assert error.byte_range is not None, f"{door}: {error!r}"
            start, stop = error.byte_range
            assert 0 <= start <= stop <= len(content), f"{door}: {error!r}"
