"""`LanceDataSource`: what ``spark.read.format("lance")`` and ``df.write.format("lance")`` find."""

from __future__ import annotations

from collections.abc import MutableMapping
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)

from lance_arrow.errors import CorruptFileError, InvalidArgumentError, TableNotFoundError
from lance_arrow.spark.environment import check_pyspark
from lance_arrow.spark.options import READ_NAMES, STREAM_NAMES, WRITE_NAMES, ReadChoices, SourceOptions, WriteChoices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
    from lance_arrow.manifests.manifest import ManifestMeta


# Spark makes a process for each of these steps, which imports what the step needs.
# ruff: noqa: PLC0415


class LanceDataSource(DataSource):
    """Lance tables for Spark, and Lance files without a table.

    A data frame keeps the version that was the newest when it was made; later writes do not change it.

    Parameters
    ----------
    options
        As Spark hands them over: names in lower case.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        check_pyspark()
        self._pinned: tuple[int, str | None] | None = None

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "lance"

    def schema(self) -> StructType:
        """Return the schema of the table or files, and fix the version that is read."""
        from lance_arrow.spark.reader import schema_of

        choices = self._read_choices()
        if self._is_feed():
            from lance_arrow.spark.change_feed import feed_schema

            return feed_schema(choices)
        manifest, files = _opened(choices)
        if manifest is None:
            from lance_arrow.spark.file_reader import schema_of_files

            return schema_of_files(choices, files)
        self._pinned = manifest.version, manifest.branch
        return schema_of(choices, manifest)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the batch reader."""
        from lance_arrow.spark.reader import LanceReader

        if self._is_feed():
            raise InvalidArgumentError("changes = feed is for streams: use spark.readStream, or LanceTable.changes")
        choices = self._read_choices()
        if self._pinned is not None:
            version, branch = self._pinned
            choices = replace(choices, version=version, branch=branch, tag=None, as_of=None)
        manifest, files = _opened(choices)
        if manifest is not None:
            return LanceReader(choices, manifest, schema)
        from lance_arrow.spark.file_reader import FilesReader

        return FilesReader(choices, files, schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return the batch writer."""
        from lance_arrow.spark.writer import LanceWriter

        return LanceWriter(self._write_choices(), schema, overwrite=overwrite)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream of versions."""
        from lance_arrow.spark.stream_reader import LanceStreamReader, StreamChoices

        options = self._stream_options()
        if self._is_feed():
            from lance_arrow.spark.change_feed import ChangeFeedReader

            return ChangeFeedReader(ReadChoices.of(options), StreamChoices.of(options), schema)
        return LanceStreamReader(ReadChoices.of(options), StreamChoices.of(options), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
        """Return the writer of micro-batches."""
        from lance_arrow.spark.stream_writer import LanceStreamWriter

        return LanceStreamWriter(self._write_choices(), schema, overwrite=overwrite)

    def _read_choices(self) -> ReadChoices:
        # Options of streams are accepted too: Spark does not tell yet whether the source is for a stream.
        return ReadChoices.of(self._stream_options())

    def _stream_options(self) -> SourceOptions:
        return SourceOptions(self.options, (*READ_NAMES, *STREAM_NAMES))

    def _is_feed(self) -> bool:
        said = self._stream_options().text("changes")
        return said is not None and said.lower() == "feed"

    def _write_choices(self) -> WriteChoices:
        return WriteChoices.of(SourceOptions(self.options, WRITE_NAMES))


def _opened(choices: ReadChoices) -> tuple[ManifestMeta | None, LanceDataset | None]:
    """Open a version of a table; where there is no table, the files that are there."""
    from lance_arrow.spark.reader import open_manifest

    try:
        return open_manifest(choices), None
    except TableNotFoundError:
        from lance_arrow.spark.file_reader import files_of

        try:
            return None, files_of(choices)
        except TableNotFoundError:
            # Of a table whose versions are lost: it says what is there.
            raise
        except FileNotFoundError:
            pass
        except CorruptFileError as error:
            # In a folder of other files, what is missing is a table.
            if error.path is not None and error.path.endswith((".lance", choices.address.path)):
                raise
        raise


def register(spark: SparkSession) -> None:
    """Register the format ``lance`` in a session; only needed where Spark does not find it by itself.

    Parameters
    ----------
    spark
        The session.
    """
    spark.dataSource.register(LanceDataSource)
