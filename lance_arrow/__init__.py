"""Lance files and tables as first-class citizens of Arrow.

Names are imported when they are first used: `import lance_arrow` alone loads no pyarrow.

| Name | What it is |
|---|---|
| `LanceFormat` | a `pyarrow.dataset.FileFormat`: `dataset(path, format=LanceFormat())` |
| `LanceReadOptions`, `LanceFragmentScanOptions`, `LanceWriteOptions` | options of formats, of scans, of writing |
| `LanceFileFragment` | one file of a dataset |
| `LanceFile` | one file: `read`, `take`, `to_batches`, `count_rows` |
| `LanceWriter`, `write_table` | one file, written batch by batch or in one call |
| `LanceTable` | one version of a table: `open`, `to_table`, `take`, `history` |
| `write_fragments`, `commit_fragments` | `WrittenFragments` of many processes, and one version of all |
| `discard_fragments` | removes their files instead |
| `catalog` | a `LanceCatalog`: tables by name in a folder |
| `dataset` | a `LanceDataset` over a table or files |
| `read_table`, `read_schema`, `read_metadata` | one call for one file |
| `convert` | Parquet, CSV, JSON, Arrow IPC, ORC or Lance to one Lance file or table; gives a `ConvertReport` |
| `export` | a Lance file or table to Parquet, CSV or Arrow IPC; gives an `ExportReport` |
| `build_zones` | zone maps beside files that have none |
| `salvage` | what can be saved of a damaged file or table, written to a new one; gives a `SalvageReport` |
| `verify` | a `VerifyReport` of a file, a table or a folder: every checksum compared, every page decoded |
| `receipts` | `with receipts() as found:` what each read took: files, pages, rows, requests, bytes |
| `errors` | the error tree |
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# Only source trees have it.
if os.path.exists(os.path.join(os.path.dirname(__file__), "CMakeLists.txt")):
    from lance_arrow._source_tree import hand_over, is_compiled

    if not is_compiled(__path__):
        hand_over(__name__, __path__)

from lance_arrow.late_names import late_names

if TYPE_CHECKING:
    from lance_arrow import errors as errors
    from lance_arrow.arrow_dataset.fragment_options import LanceFragmentScanOptions as LanceFragmentScanOptions
    from lance_arrow.arrow_dataset.fragment_options import LanceReadOptions as LanceReadOptions
    from lance_arrow.arrow_dataset.lance_dataset import LanceDataset as LanceDataset
    from lance_arrow.arrow_dataset.lance_format import LanceFormat as LanceFormat
    from lance_arrow.arrow_dataset.lance_format import LanceWriteOptions as LanceWriteOptions
    from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment as LanceFileFragment
    from lance_arrow.arrow_dataset.opening import dataset as dataset
    from lance_arrow.catalogs.lance_catalog import LanceCatalog as LanceCatalog
    from lance_arrow.catalogs.opening import catalog as catalog
    from lance_arrow.conversion.converting import convert as convert
    from lance_arrow.conversion.exporting import export as export
    from lance_arrow.conversion.reports import ConvertReport as ConvertReport
    from lance_arrow.conversion.reports import ExportReport as ExportReport
    from lance_arrow.conversion.salvaging import salvage as salvage
    from lance_arrow.files.lance_file import LanceFile as LanceFile
    from lance_arrow.files.lance_writer import LanceWriter as LanceWriter
    from lance_arrow.files.lance_writer import write_table as write_table
    from lance_arrow.files.salvaging.reports import SalvageReport as SalvageReport
    from lance_arrow.files.verification import VerifyReport as VerifyReport
    from lance_arrow.files.whole_files import read_metadata as read_metadata
    from lance_arrow.files.whole_files import read_schema as read_schema
    from lance_arrow.files.whole_files import read_table as read_table
    from lance_arrow.files.zone_building import build_zones as build_zones
    from lance_arrow.runtime import Runtime as Runtime
    from lance_arrow.settings import Limits as Limits
    from lance_arrow.settings import Settings as Settings
    from lance_arrow.table.distributed.committing import commit_fragments as commit_fragments
    from lance_arrow.table.distributed.committing import discard_fragments as discard_fragments
    from lance_arrow.table.distributed.writing import write_fragments as write_fragments
    from lance_arrow.table.distributed.written_fragments import WrittenFragments as WrittenFragments
    from lance_arrow.table.lance_table import LanceTable as LanceTable
    from lance_arrow.table.salvaging.reports import TableSalvageReport as TableSalvageReport
    from lance_arrow.table.verifying import verify as verify
    from lance_arrow.watching import Receipts as Receipts
    from lance_arrow.watching import receipts as receipts

    __version__: str

_find, _listed, __all__ = late_names(
    __name__,
    {
        "lance_arrow.catalogs.lance_catalog": ("LanceCatalog",),
        "lance_arrow.catalogs.opening": ("catalog",),
        "lance_arrow.conversion.converting": ("convert",),
        "lance_arrow.conversion.exporting": ("export",),
        "lance_arrow.conversion.reports": ("ConvertReport", "ExportReport"),
        "lance_arrow.conversion.salvaging": ("salvage",),
        "lance_arrow.arrow_dataset.lance_format": ("LanceFormat", "LanceWriteOptions"),
        "lance_arrow.arrow_dataset.lance_fragment": ("LanceFileFragment",),
        "lance_arrow.arrow_dataset.fragment_options": ("LanceFragmentScanOptions", "LanceReadOptions"),
        "lance_arrow.arrow_dataset.lance_dataset": ("LanceDataset",),
        "lance_arrow.files.lance_file": ("LanceFile",),
        "lance_arrow.files.lance_writer": ("LanceWriter", "write_table"),
        "lance_arrow.arrow_dataset.opening": ("dataset",),
        "lance_arrow.files.salvaging.reports": ("SalvageReport",),
        "lance_arrow.files.verification": ("VerifyReport",),
        "lance_arrow.files.whole_files": ("read_metadata", "read_schema", "read_table"),
        "lance_arrow.files.zone_building": ("build_zones",),
        "lance_arrow.runtime": ("Runtime",),
        "lance_arrow.settings": ("Limits", "Settings"),
        "lance_arrow.table.distributed.committing": ("commit_fragments", "discard_fragments"),
        "lance_arrow.table.distributed.writing": ("write_fragments",),
        "lance_arrow.table.distributed.written_fragments": ("WrittenFragments",),
        "lance_arrow.table.lance_table": ("LanceTable",),
        "lance_arrow.table.salvaging.reports": ("TableSalvageReport",),
        "lance_arrow.table.verifying": ("verify",),
        "lance_arrow.watching": ("Receipts", "receipts"),
    },
    modules=("errors",),
)


def __getattr__(name: str) -> Any:
    return _version() if name == "__version__" else _find(name)


def __dir__() -> list[str]:
    return [*_listed(), "__version__"]


def _version() -> str:
    """Version of the installed distribution; what reads it is imported when it is asked for."""
    return importlib.import_module("importlib.metadata").version("lance-arrow")
