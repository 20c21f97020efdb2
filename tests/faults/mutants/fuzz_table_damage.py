"""Ways to damage a table: bytes of one of its files, fields of its messages, or which file lies where."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np
from fuzz_damage import BORDERS, copied, cut, damaged, flip, mutate, noise, number, shifted_number
from google.protobuf.message import DecodeError, Message

from lance_arrow.manifests import seals
from lance_arrow.manifests.seals import RECORD, seal
from lance_arrow.proto.rowids_pb2 import RowDatasetVersionSequence, RowIdSequence
from lance_arrow.proto.table_pb2 import IndexSection, Manifest
from lance_arrow.proto.transaction_pb2 import Transaction

FOOTER = struct.Struct("<QHH4s")
SIZE = struct.Struct("<I")
MANIFESTS, REFERENCES = "_versions", "_refs"
WEIGHTS = {MANIFESTS: 12, "_deletions": 4, "_indices": 3, "data": 4, "_transactions": 2, REFERENCES: 1}
_WAYS = (flip, flip, number, shifted_number, noise, copied, cut)
_SEQUENCES = {
    "inline_row_ids": RowIdSequence,
    "inline_created_at_versions": RowDatasetVersionSequence,
    "inline_last_updated_at_versions": RowDatasetVersionSequence,
}


@dataclass(frozen=True)
class Damage:
    """What becomes of one file of a table.

    Parameters
    ----------
    path
        Below the table.
    content
        New bytes; None for a file that is removed.
    what
        For people.
    is_silent_fault
        Whether what is there afterwards agrees with itself, so that no reader can notice: checksums were computed
        again, a version was taken away, a file was exchanged for one of the same size or for a branch's.
    """

    path: str
    content: bytes | None
    what: str
    is_silent_fault: bool = False

    def do(self, table: Path) -> None:
        """Damage a copy of the table."""
        if self.content is None:
            (table / self.path).unlink()
        else:
            (table / self.path).write_bytes(self.content)


def damage(files: dict[str, bytes], rng: np.random.Generator) -> Damage:
    """Damage one file of a table, given as paths and bytes."""
    path = _chosen(files, rng)
    chance = rng.random()
    if chance < 0.1:
        return _misplaced(files, path, rng)
    if kind_of(path) == MANIFESTS and path.endswith(".manifest") and chance < 0.6:
        try:
            return _message(path, files[path], rng)
        except (DecodeError, struct.error, ValueError, IndexError, OverflowError) as error:
            return Damage(path, files[path], f"nothing ({type(error).__name__})")
    if kind_of(path) == "_deletions" and chance < 0.3:
        return _deletions(path, files[path], rng)
    if kind_of(path) in ("data", "_indices"):
        content, what = damaged(files[path], rng, sealed=False)
    else:
        content, what = damaged_bytes(files[path], rng)
    return Damage(path, content, f"{path}: {what}")


def damaged_bytes(content: bytes, rng: np.random.Generator) -> tuple[bytes, str]:
    """Damage bytes that are no data file."""
    done = []
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        way = _WAYS[int(rng.integers(len(_WAYS)))]
        content, what = way(content, rng)
        done.append(what)
    return content, "; ".join(done)


def kind_of(path: str) -> str:
    """Return the folder that says what a file is, also below a branch."""
    return next((part for part in PurePosixPath(path).parts if part in WEIGHTS), "data")


def _chosen(files: dict[str, bytes], rng: np.random.Generator) -> str:
    kinds = sorted({kind_of(path) for path in files})
    weights = np.array([WEIGHTS[kind] for kind in kinds], float)
    kind = kinds[int(rng.choice(len(kinds), p=weights / weights.sum()))]
    paths = [path for path in sorted(files) if kind_of(path) == kind]
    if kind == MANIFESTS and rng.random() < 0.6:
        # The newest version decides most; names of most writers count down.
        main = [path for path in paths if path.startswith(MANIFESTS)]
        return main[0] if len(main[0]) > len(f"{MANIFESTS}/100.manifest") else main[-1]
    return paths[int(rng.integers(len(paths)))]


def _misplaced(files: dict[str, bytes], path: str, rng: np.random.Generator) -> Damage:
    """A file that is gone, empty, or another one in its place."""
    kind = kind_of(path)
    others = [other for other in sorted(files) if kind_of(other) == kind and files[other] != files[path]]
    chance = rng.random()
    if chance < 0.4 and others:
        other = others[int(rng.integers(len(others)))]
        # A data file knows neither its name nor its table, a manifest knows its version alone.
        is_silent = kind == "data" and len(files[other]) == len(files[path])
        is_silent |= kind == MANIFESTS and path.rpartition("/")[2] == other.rpartition("/")[2]
        return Damage(path, files[other], f"{other} in place of {path}", is_silent)
    if chance < 0.7:
        # Without a manifest, a table has one version less.
        return Damage(path, None, f"{path} removed", kind == MANIFESTS)
    size = int(rng.integers(len(files[path]) + 1)) if chance < 0.9 else 0
    return Damage(path, files[path][:size], f"{path} cut to {size}")


def _message(path: str, content: bytes, rng: np.random.Generator) -> Damage:
    """One field of a manifest, of its sections, or of sequences within; checksums as they were, or fitting."""
    parts = ManifestParts(content)
    is_sealed_again = rng.random() < 0.6
    what = parts.change(rng)
    return Damage(path, parts.build(sealed_again=is_sealed_again), f"{path}: {what}", is_sealed_again)


def _deletions(path: str, content: bytes, rng: np.random.Generator) -> Damage:
    """A deletion file damaged within, with a checksum that fits again, or without one."""
    mark = content.find(seals.DELETIONS)
    at = mark - RECORD.size + len(seals.DELETIONS)
    if mark < 0:
        content, what = damaged_bytes(content, rng)
        return Damage(path, content, f"{path}: {what}")
    before, after = content[:at], content[at + RECORD.size :]
    before, what = damaged_bytes(before, rng)
    name = path.rpartition("/")[2].encode()
    record = seal(seals.DELETIONS, name, before, after) if rng.random() < 0.7 else b""
    return Damage(path, before + record + after, f"{path}: {what}, sealed again", True)


class ManifestParts:
    """A manifest's file taken apart into its messages."""

    def __init__(self, content: bytes) -> None:
        position, *self.numbers, _ = FOOTER.unpack(content[-FOOTER.size :])
        self.message = Manifest.FromString(content[position + SIZE.size : -FOOTER.size])
        self.leading = content[: RECORD.size] if content[8:16] == seals.MANIFEST else b""
        self.record = content[position - RECORD.size : position]
        self.sections: dict[str, tuple[Message, bytes]] = {}
        for name, kind in (("index_section", IndexSection), ("transaction_section", Transaction)):
            if self.message.HasField(name):
                at = getattr(self.message, name)
                (size,) = SIZE.unpack_from(content, at)
                stop = at + SIZE.size + size
                message = kind.FromString(content[at + SIZE.size : stop])
                self.sections[name] = (message, content[stop : stop + RECORD.size])

    def change(self, rng: np.random.Generator) -> str:
        """Change something in one of the messages."""
        if self.sections and rng.random() < 0.3:
            name = sorted(self.sections)[int(rng.integers(len(self.sections)))]
            return f"{name} {mutate(self.sections[name][0], rng)}"
        held = [
            (fragment, name) for fragment in self.message.fragments for name in _SEQUENCES if fragment.HasField(name)
        ]
        if held and rng.random() < 0.4:
            fragment, name = held[int(rng.integers(len(held)))]
            sequence = _SEQUENCES[name].FromString(getattr(fragment, name))
            what = mutate(sequence, rng)
            setattr(fragment, name, sequence.SerializeToString())
            return f"fragment {fragment.id} {name} {what}"
        if rng.random() < 0.1:
            self.message.next_row_id = BORDERS[int(rng.integers(len(BORDERS)))] % (1 << 64)
            return f"next_row_id = {self.message.next_row_id}"
        return mutate(self.message, rng)

    def build(self, *, sealed_again: bool) -> bytes:
        """Put the file together again, with the records that it had, or with ones that fit."""
        sections = bytearray(self.leading)
        for name, (message, record) in self.sections.items():
            if self.message.HasField(name):
                setattr(self.message, name, len(sections))
            data = message.SerializeToString()
            section = SIZE.pack(len(data)) + data
            is_sealed = record[8:] == seals.SECTION
            sections += section + (seal(seals.SECTION, section) if sealed_again else record if is_sealed else b"")
        body = self.message.SerializeToString()
        is_sealed = self.record[8:] == seals.MANIFEST
        position = len(sections) + (RECORD.size if is_sealed or sealed_again else 0)
        behind = SIZE.pack(len(body)) + body + FOOTER.pack(position, *self.numbers, b"LANC")
        record = seal(seals.MANIFEST, behind) if sealed_again else self.record if is_sealed else b""
        if self.leading and sealed_again:
            sections[: RECORD.size] = record
        return bytes(sections) + record + behind
