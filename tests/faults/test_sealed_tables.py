"""Every byte of our manifests and deletion files damaged once: right rows or an error, never other rows."""

from __future__ import annotations

from pathlib import Path

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptManifestError, LanceError
from lance_arrow.manifests.seals import MANIFEST, RECORD, SECTION

ROWS = pa.table({"a": pa.array(range(12_000), pa.int64())})


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table with both forms of deletion file, and an index."""
    path = tmp_path / "t.lance"
    made = LanceTable.create(path, ROWS, max_rows_per_file=6000)
    made.delete(pc.field("a") < 3)
    made.delete((pc.field("a") >= 6000) & (pc.bit_wise_and(pc.field("a"), 63) != 0))
    made.create_zone_map("a")
    return path


def damaged(file: Path, step: int) -> tuple[int, int]:
    """Flip one bit of every `step`-th byte, and return how often that was refused, and how often it changed nothing."""
    content, rng = file.read_bytes(), np.random.default_rng(18)
    root = file.parent.parent
    expected = LanceTable.open(root).to_table()
    refused = same = 0
    for place in range(0, len(content), step):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(changed)
        try:
            opened = LanceTable.open(root)
            assert opened.to_table().equals(expected), place
            assert opened.count_rows(pc.field("a") < 100) == 97, place
            assert opened.indices == {"a_idx": ("a",)}, place
        except LanceError:
            refused += 1
        else:
            same += 1
    file.write_bytes(content)
    return refused, same


def test_no_bit_of_a_manifest_is_silent(table: Path) -> None:
    refused, same = damaged(manifests.newest(table), 1)
    # The transaction is not read here, nor are marks and the padding of records.
    assert refused > same


@pytest.mark.parametrize("kind", ["arrow", "bin"])
def test_no_bit_of_a_deletion_file_is_silent(table: Path, kind: str) -> None:
    (file,) = (table / "_deletions").glob(f"*.{kind}")
    refused, same = damaged(file, 1)
    assert refused
    assert same <= len(MANIFEST) + 4


def test_damage_is_named(table: Path) -> None:
    manifest = manifests.newest(table)
    content = manifest.read_bytes()
    assert (content.count(SECTION), content.count(MANIFEST)) == (2, 2)
    position = manifests.FOOTER.unpack(content[-16:])[0]
    manifest.write_bytes(content[: position + 40] + b"?" + content[position + 41 :])
    with pytest.raises(CorruptManifestError, match="the manifest does not match its checksum") as caught:
        LanceTable.open(table)
    assert manifest.name in str(caught.value)


def test_what_has_no_record_is_read(table: Path) -> None:
    """As the reference leaves it: nothing to compare with."""
    expected = LanceTable.open(table).to_table()
    manifests.change(table, lambda message: None)
    assert manifests.newest(table).read_bytes().count(MANIFEST) == 0
    (file,) = (table / "_deletions").glob("*.bin")
    file.write_bytes(file.read_bytes()[: -RECORD.size])
    assert LanceTable.open(table).to_table().equals(expected)
