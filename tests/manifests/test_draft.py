"""`FragmentDraft` copies unchanged fragments as bytes while others are changed, dropped and added."""

from __future__ import annotations

import numpy as np
import pytest

from lance_arrow.engine import split_manifest
from lance_arrow.errors import InternalError
from lance_arrow.manifests.draft import FragmentDraft, ManifestDraft
from lance_arrow.proto.table_pb2 import DataFragment, DeletionFile, Manifest

# A field that the format does not have.
_UNKNOWN = b"\xa2\x1f\x01x"


def _fragment(number: int) -> DataFragment:
    fragment = DataFragment(id=number, physical_rows=number * 10 + 1)
    # Lengths of one and of two bytes.
    fragment.files.add(path="x" * (number * 37 % 300) + ".lance", file_major_version=2)
    return fragment


def _draft(fragments: list[DataFragment], body: bytes | None = None) -> FragmentDraft:
    data = Manifest(fragments=fragments, version=7).SerializeToString() if body is None else body
    found = split_manifest(data)
    assert found is not None
    places = np.frombuffer(found[2], np.int64).reshape(-1, 2)
    ids = np.array([one.id for one in fragments], np.int64)
    return FragmentDraft(data, places, ids, np.array([one.HasField("deletion_file") for one in fragments], bool))


def _encoded(draft: FragmentDraft) -> list[DataFragment]:
    return list(Manifest.FromString(b"".join(draft.encoded())).fragments)


def test_random_changes_equal_those_of_messages() -> None:
    random = np.random.default_rng(5)
    for _ in range(200):
        ids = random.permutation(40)[: random.integers(0, 30)].tolist()
        if random.random() < 0.7:
            ids.sort()
        expected = {number: _fragment(number) for number in ids}
        draft = _draft(list(expected.values()))
        for _ in range(random.integers(0, 6)):
            kind, known = random.integers(0, 3), sorted(expected)
            if kind == 0:
                added = _fragment(int(random.integers(100, 1000)))
                if added.id not in expected:
                    expected[added.id] = added
                    draft.add(added)
            elif known:
                number = int(random.choice(known))
                if kind == 1:
                    del expected[number]
                    draft.drop([number])
                else:
                    changed = draft.get(number)
                    assert changed == expected[number]
                    changed.deletion_file.CopyFrom(DeletionFile(read_version=3, id=9))
                    draft.put(changed)
                    expected[number] = changed
        assert _encoded(draft) == [expected[number] for number in sorted(expected)]
        assert sorted(draft.ids.tolist()) == sorted(expected)
        assert {one.id: one for one in draft} == expected
        assert draft.have_deletions == any(one.HasField("deletion_file") for one in expected.values())


def test_unknown_fields_and_odd_lengths_of_others_stay() -> None:
    message = _fragment(1).SerializeToString() + _UNKNOWN
    odd = _fragment(2).SerializeToString()
    assert len(odd) < 128
    framed = b"\x12" + bytes([len(message)]) + message
    body = framed + b"\x12" + bytes([len(odd) | 0x80, 0]) + odd + framed.replace(b"\x08\x01", b"\x08\x03", 1)
    draft = _draft([_fragment(1), _fragment(2), _fragment(3)], body)
    found = b"".join(draft.encoded())
    assert found.count(_UNKNOWN) == 2
    assert [one.id for one in Manifest.FromString(found).fragments] == [1, 2, 3]


def test_what_is_not_there_is_refused() -> None:
    draft = _draft([_fragment(1)])
    for call in (lambda: draft.get(2), lambda: draft.put(_fragment(2)), lambda: draft.drop([2])):
        with pytest.raises(InternalError, match="a fragment is missing"):
            call()


def test_empty() -> None:
    draft = ManifestDraft.empty()
    assert draft.body() == b""
    draft.fragments.add(_fragment(4))
    assert [one.id for one in Manifest.FromString(draft.body()).fragments] == [4]
    draft.fragments.clear()
    assert draft.body() == b""
