"""Every byte of our manifests and deletion files damaged once: right rows or an error, never other rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import manifests
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from lance_arrow import LanceTable
from lance_arrow.errors import CorruptManifestError, LanceError
from lance_arrow.manifests.seals import DELETIONS, MANIFEST, RECORD, SECTION

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


def flips(content: bytes, step: int = 1) -> Iterator[bytes]:
    """Flip one bit of every byte, or of each of so many, one at a time."""
    rng = np.random.default_rng(18)
    for place in range(0, len(content), step):
        changed = bytearray(content)
        changed[place] ^= 1 << int(rng.integers(8))
        yield bytes(changed)


def bursts(content: bytes, mark: bytes) -> Iterator[bytes]:
    """Damage each mark together with bytes around it: noise, or zeros."""
    rng = np.random.default_rng(18)
    at = content.find(mark)
    while at >= 0:
        for start in range(max(0, at - 56), at + len(mark), 4):
            for noise in (rng.bytes(60), bytes(60)):
                yield content[:start] + noise[: len(content) - start] + content[start + 60 :]
        at = content.find(mark, at + 1)


def damaged(file: Path, damages: Iterable[bytes]) -> tuple[int, int]:
    """Read a table with each damage of a file, and return how often that was refused, and how often nothing changed."""
    content = file.read_bytes()
    root = file.parent.parent
    expected = LanceTable.open(root).to_table()
    refused = same = 0
    for place, changed in enumerate(damages):
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


def test_no_bit_of_a_manifest_is_silent(table: Path, whole_run: bool) -> None:
    manifest = manifests.newest(table)
    refused, same = damaged(manifest, flips(manifest.read_bytes(), 1 if whole_run else 3))
    # The transaction is not read here, nor are marks and the padding of records.
    assert refused > same


@pytest.mark.parametrize("kind", ["arrow", "bin"])
def test_no_bit_of_a_deletion_file_is_silent(table: Path, kind: str) -> None:
    (file,) = (table / "_deletions").glob(f"*.{kind}")
    refused, same = damaged(file, flips(file.read_bytes()))
    assert refused
    # Nothing hides behind a damaged mark but the padding of the record.
    assert same <= 4


@pytest.mark.parametrize("kind", ["_versions/*", "_deletions/*.arrow", "_deletions/*.bin"])
def test_damage_to_a_mark_hides_no_other(table: Path, kind: str) -> None:
    file = min(table.glob(kind))
    content = file.read_bytes()
    for mark in (MANIFEST, SECTION, DELETIONS):
        refused, same = damaged(file, bursts(content, mark))
        # What comes first in a manifest is its record, and a transaction is not read here.
        assert refused > same or kind == "_versions/*" or not refused + same
        assert refused or mark not in content
    for piece in (content[:3], b""):
        file.write_bytes(piece)
        with pytest.raises(LanceError):
            LanceTable.open(table).to_table()


def test_a_deletion_file_is_not_that_of_another_fragment(table: Path) -> None:
    """Its name belongs to what its checksum is of, since the number of rows may be the same."""
    LanceTable.open(table).delete(pc.field("a").isin([10, 11, 12, 6063]))
    made = LanceTable.open(table)
    first, second = made.manifest.fragments
    assert first.deletion is not None
    assert second.deletion is not None
    before = [file for file in (table / "_deletions").glob("0-*.arrow") if file.name != first.deletion.name]
    (table / "_deletions" / first.deletion.name).write_bytes(before[0].read_bytes())
    with pytest.raises(CorruptManifestError, match="the deletion file does not match its checksum"):
        made.to_table()


def test_a_section_must_have_a_record_if_its_manifest_has_one(table: Path) -> None:
    manifest = manifests.newest(table)
    content = manifest.read_bytes()
    manifest.write_bytes(content.replace(SECTION, bytes(len(SECTION))))
    found = LanceTable.open(table)
    with pytest.raises(CorruptManifestError, match="has no checksum, though the manifest has one"):
        found.indices  # noqa: B018
    assert found.history()[0].operation is None


def test_nothing_relies_on_a_transaction_file(table: Path) -> None:
    """Manifests have transactions of their own: what others did is known from those, not from the files."""
    first, second, third = (LanceTable.open(table) for _ in range(3))
    first.update({"a": pc.scalar(-1)}, pc.field("a") == 5)
    expected = LanceTable.open(table).history()
    for file in (table / "_transactions").iterdir():
        file.write_bytes(b"\x12\x24" + b"?" * 36)
    assert LanceTable.open(table).history() == expected
    third.append(ROWS.slice(0, 2))
    assert LanceTable.open(table).count_rows(pc.field("a") == -1) == 1
    # Done again on what the update left: its row has moved to another fragment.
    second.delete(pc.field("a") < 10)
    assert LanceTable.open(table).count_rows(pc.field("a") < 10) == 0


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
    (file,) = (table / "_deletions").glob("*.arrow")
    content = file.read_bytes()
    at = content.index(DELETIONS) + len(DELETIONS)
    file.write_bytes(content[: at - RECORD.size] + content[at:])
    assert LanceTable.open(table).to_table().equals(expected)
