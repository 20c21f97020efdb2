"""Hugging Face: `load` returns a `datasets.Dataset`, or a stream of its rows, built by `LanceBuilder`."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.table_parts import TablePart
from lance_arrow.arrow_dataset.table_session import FoundPart
from lance_arrow.integrations.wanted_rows import Source, WantedRows
from lance_arrow.scan.predicates import Predicate
from lance_arrow.scan.row_restriction import unrestricted

DEFAULT_SHARE_ROWS = 1 << 20


@dataclass
class LanceConfig(datasets.BuilderConfig):
    """Configuration of a read.

    Parameters
    ----------
    dataset
        The dataset.
    columns, filter
        Columns and filter of the read; everything if None.
    content
        Digest of files, columns and filter, for Hugging Face's cache.
    """

    dataset: LanceDataset | None = None
    columns: tuple[str, ...] | None = None
    filter: pc.Expression | None = None
    content: str = ""

    def create_config_id(self, config_kwargs: dict[str, Any], custom_features: Any = None) -> str:
        """Return an id from the digest of the read: the objects themselves have no stable text."""
        return super().create_config_id({"content": self.content}, custom_features)


class LanceBuilder(datasets.ArrowBasedBuilder):
    """Builds one split, ``train``, from the batches of a dataset; one shard for each share of its rows."""

    BUILDER_CONFIG_CLASS = LanceConfig

    def _info(self) -> datasets.DatasetInfo:
        return datasets.DatasetInfo(features=datasets.Features.from_arrow_schema(self._wanted.schema))

    def _split_generators(self, dl_manager: Any) -> list[datasets.SplitGenerator]:
        shares = self._wanted.shares(DEFAULT_SHARE_ROWS)
        return [datasets.SplitGenerator(datasets.Split.TRAIN, gen_kwargs={"shares": shares})]

    def _generate_tables(self, shares: Sequence[LanceDataset]) -> Iterator[tuple[Any, pa.Table]]:
        schema = self.info.features.arrow_schema
        for number, share in enumerate(shares):
            for part, batch in enumerate(share.to_batches(**self._wanted.options)):
                yield (number, part), pa.Table.from_batches([batch]).cast(schema)

    @property
    def _wanted(self) -> WantedRows:
        return WantedRows.of(self.config.dataset, self.config.columns, self.config.filter)


def load(
    source: Source,
    *,
    columns: Sequence[str] | None = None,
    filter: Predicate | None = None,
    streaming: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
    num_proc: int | None = None,
) -> datasets.Dataset | datasets.IterableDataset:
    """Load a dataset for Hugging Face's tools.

    Parameters
    ----------
    source
        A dataset, or a path or URL as for `lance_arrow.dataset`.
    columns
        Columns to read; all if None.
    filter
        Applied while reading: expression, DNF tuples or SQL. Zones it excludes are not read.
    streaming
        Read rows at each iteration, instead of first copying them into Hugging Face's cache.
    cache_dir, num_proc
        As for `datasets.load_dataset`: folder of that cache, and number of processes that fill it.

    Returns
    -------
    datasets.Dataset
        ``datasets.IterableDataset`` if streaming.

    Raises
    ------
    InvalidArgumentError
        The filter is not valid, or it or a column does not fit the dataset.
    """
    wanted = WantedRows.of(source, columns, filter)
    builder = LanceBuilder(
        cache_dir=None if cache_dir is None else os.fspath(cache_dir),
        dataset=wanted.dataset,
        columns=None if columns is None else tuple(columns),
        filter=wanted.filter,
        content=_content(wanted.dataset, columns, wanted.filter),
    )
    if streaming:
        return builder.as_streaming_dataset(split="train")
    builder.download_and_prepare(num_proc=num_proc)
    return builder.as_dataset(split="train")


def _content(dataset: LanceDataset, columns: Sequence[str] | None, filter: pc.Expression | None) -> str:
    """Return a digest of the read: current files, their rows, columns and filter."""
    infos = dataset.filesystem.get_file_info(dataset.files)
    files = [(one.path, one.size, one.mtime_ns) for one in infos]
    parts = [(str(fragment), _rows(fragment.payload)) for fragment in dataset.fragments]
    said = repr((files, parts, dataset.schema.to_string(), columns, str(filter), repr(dataset.format), repr(dataset)))
    return hashlib.sha256(said.encode()).hexdigest()[:32]


def _rows(payload: object) -> str:
    """Return the rows of a file in a fragment of a table: deleting rows changes no data file."""
    whole, _ = unrestricted(payload)
    part = whole.resolved() if isinstance(whole, FoundPart) else whole
    return f"{part.facts.manifest_path} {part.fragment!r}" if isinstance(part, TablePart) else ""
