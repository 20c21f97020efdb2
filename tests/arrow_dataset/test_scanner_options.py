"""Every method that scans spells out pyarrow's options, and hands all of them to the scanner."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as pads
import pytest

import lance_arrow
from lance_arrow.arrow_dataset.lance_dataset import LanceDataset
from lance_arrow.arrow_dataset.lance_fragment import LanceFileFragment
from lance_arrow.arrow_dataset.scanner_options import ScannerOptions

OPTIONS = list(ScannerOptions._fields)
GIVEN: dict[str, Any] = {
    "columns": ["a"],
    "filter": pc.field("a") > 1,
    "batch_size": 7,
    "batch_readahead": 2,
    "fragment_readahead": 3,
    "fragment_scan_options": lance_arrow.LanceFragmentScanOptions(zone_maps=False),
    "use_threads": False,
    "cache_metadata": False,
    "memory_pool": pa.system_memory_pool(),
}
SCANNING: dict[str, Callable[[LanceDataset], object]] = {
    "to_table": lambda dataset: dataset.to_table(**GIVEN),
    "to_batches": lambda dataset: dataset.to_batches(**GIVEN),
    "take": lambda dataset: dataset.take([1], **GIVEN),
    "head": lambda dataset: dataset.head(1, **GIVEN),
}


@pytest.mark.parametrize("name", ["scanner", "count_rows", *SCANNING])
def test_methods_of_datasets_spell_out_every_option(name: str) -> None:
    _check_signature(getattr(LanceDataset, name), OPTIONS if name != "count_rows" else OPTIONS[1:])


@pytest.mark.parametrize("name", ["take", "head"])
def test_methods_of_fragments_spell_out_every_option(name: str) -> None:
    _check_signature(getattr(LanceFileFragment, name), OPTIONS)


@pytest.mark.parametrize("name", SCANNING)
def test_every_option_reaches_the_scanner(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lance_arrow.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "f.lance")
    dataset = lance_arrow.dataset(tmp_path / "f.lance")
    seen: list[dict[str, Any]] = []
    scanner = LanceDataset.scanner

    def recorded(self: LanceDataset, **options: Any) -> pads.Scanner:
        seen.append(options)
        return scanner(self, **options)

    monkeypatch.setattr(LanceDataset, "scanner", recorded)
    SCANNING[name](dataset)
    assert {name: seen[-1][name] for name in GIVEN} == GIVEN


def _check_signature(method: Callable[..., object], options: list[str]) -> None:
    parameters = inspect.signature(method).parameters
    defaults = ScannerOptions()
    assert [name for name in parameters if name in OPTIONS] == options
    assert all(parameters[name].default == getattr(defaults, name) for name in options)
    assert not any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
