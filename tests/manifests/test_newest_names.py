"""How much of a long history a store of objects is asked for: the newest names, and a look behind them."""

from __future__ import annotations

from typing import Any, ClassVar

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from lance_arrow.errors import CorruptManifestError
from lance_arrow.io import Location, list_first
from lance_arrow.manifests import versions
from lance_arrow.manifests.names import ManifestName, NamingScheme
from lance_arrow.manifests.versions import list_manifests, newest_manifest

FOLDER = "/bucket/t.lance"


class Store(MemoryFileSystem):
    """Objects in memory, listed as S3 does: by name, in pages."""

    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    req_kw: ClassVar[dict[str, Any]] = {}
    asked: ClassVar[list[int]] = []

    def split_path(self, path: str) -> tuple[str, str, None]:
        bucket, _, key = path.lstrip("/").partition("/")
        return bucket, key, None

    def call_s3(
        self, method: str, *, Bucket: str, Prefix: str, Delimiter: str, MaxKeys: int, StartAfter: str = ""
    ) -> dict[str, Any]:
        assert (method, Delimiter) == ("list_objects_v2", "/")
        keys = sorted(path.removeprefix(f"/{Bucket}/") for path in self.store)
        found = [key for key in keys if key.startswith(Prefix) and key > StartAfter]
        self.asked.append(min(MaxKeys, len(found)))
        contents = [{"Key": key, "Size": 7} for key in found[:MaxKeys] if "/" not in key.removeprefix(Prefix)]
        return {"Contents": contents, "IsTruncated": len(found) > MaxKeys}

    def ls(self, path: str, detail: bool = True, **kwargs: Any) -> list[Any]:
        found: list[Any] = super().ls(path, detail, **kwargs)
        self.asked.append(len(found))
        return found


Store.__module__, Store.__qualname__ = "s3fs.core", "S3FileSystem"


@pytest.fixture
def root() -> Location:
    Store.store.clear()
    Store.asked.clear()
    return Location(Store(skip_instance_cache=True), FOLDER)


def _make(root: Location, *names: object) -> None:
    for name in names:
        root.filesystem.pipe_file(f"{root.path}/_versions/{name}", b"x" * 7)  # type: ignore[union-attr]
    Store.asked.clear()


def _v2(*versions: int) -> list[ManifestName]:
    return [ManifestName(version, NamingScheme.V2) for version in versions]


def test_the_newest_of_many_takes_few_names(root: Location) -> None:
    _make(root, *_v2(*range(1, 2001)))
    newest = newest_manifest(root)
    assert newest is not None
    assert (newest.version, newest.size_bytes) == (2000, 7)
    # The newest names, and that nothing of the other scheme lies behind them.
    assert Store.asked == [32, 0]
    Store.asked.clear()
    assert [one.version for one in list_manifests(root, since=1990)] == list(range(1990, 2001))
    # Which is asked once.
    assert Store.asked == [32]


def test_all_are_listed_where_the_newest_are_not_enough(root: Location) -> None:
    _make(root, *_v2(*range(1, 101)))
    assert [one.version for one in list_manifests(root, since=50)] == list(range(50, 101))
    assert Store.asked == [32, 0, 100]
    assert len(list_manifests(root)) == 100
    Store.asked.clear()
    assert len(list_manifests(root, since=1)) == 100
    # From the first one on, the newest are tried too.
    assert Store.asked == [32, 100]


def test_a_line_that_was_listed_whole_is_known(root: Location) -> None:
    _make(root, *_v2(*range(1, 33)))
    assert newest_manifest(root) is not None
    _make(root, *_v2(33))
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 33
    assert Store.asked == [32]


@pytest.mark.parametrize("others", [["5.manifest"], ["latest_version_hint.json"]])
def test_a_line_with_other_names_is_asked_again(root: Location, others: list[str]) -> None:
    _make(root, *_v2(*range(1, 20)), *others)
    for _ in range(2):
        if others == ["5.manifest"]:
            with pytest.raises(CorruptManifestError, match="two schemes"):
                newest_manifest(root)
        else:
            assert newest_manifest(root) is not None
    _make(root, *_v2(*range(20, 60)))
    if others == ["5.manifest"]:
        with pytest.raises(CorruptManifestError, match="two schemes"):
            newest_manifest(root)
    else:
        assert newest_manifest(root) is not None
    assert len(Store.asked) > 1


def test_a_line_that_had_older_names_meanwhile_is_asked_again(root: Location) -> None:
    """Such as one that another library made anew, and that is being renamed now."""
    _make(root, *_v2(*range(1, 41)))
    assert newest_manifest(root) is not None
    Store.store.clear()
    _make(root, *[f"{version}.manifest" for version in range(1, 61)])
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 60
    Store.store.clear()
    _make(root, *_v2(*range(1, 50)), "50.manifest")
    with pytest.raises(CorruptManifestError, match="two schemes"):
        newest_manifest(root)


def test_few_of_many_lines_are_known(root: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "_MOST_LINES", 2)
    lines = [Location(root.given, f"/bucket/{name}") for name in ("a", "b", "c")]
    for line in lines:
        _make(line, *_v2(*range(1, 41)))
        assert newest_manifest(line) is not None
    asked = []
    for line in (lines[2], lines[1], lines[0]):
        Store.asked.clear()
        assert newest_manifest(line) is not None
        asked.append(list(Store.asked))
    assert asked == [[32], [32], [32, 0]]


def test_another_folder_and_another_filesystem_are_asked_for_themselves(root: Location) -> None:
    _make(root, *_v2(*range(1, 41)))
    assert newest_manifest(root) is not None
    for other in (
        Location(root.given, "/bucket/other"),
        Location(Store(skip_instance_cache=True, of="another"), FOLDER),
    ):
        _make(other, *_v2(*range(1, 41)))
        assert newest_manifest(other) is not None
        assert Store.asked == [32, 0]


def test_few_names_are_one_answer(root: Location) -> None:
    assert newest_manifest(root) is None
    _make(root, *_v2(1, 2, 3))
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 3
    assert Store.asked == [3]


def test_versions_that_are_gone_leave_no_doubt(root: Location) -> None:
    # The version that somebody holds is tagged, those after it are cleaned up, newer ones are there.
    _make(root, *_v2(5, *range(100, 150)))
    assert [one.version for one in list_manifests(root, since=5)] == [5, *range(100, 150)]


@pytest.mark.parametrize("other", ["2.manifest", "1.manifest", "99.manifest"])
def test_the_other_scheme_is_seen_wherever_it_lies(root: Location, other: str) -> None:
    _make(root, *_v2(*range(1, 101)), other)
    for call in (newest_manifest, lambda root: list_manifests(root, since=100)):
        with pytest.raises(CorruptManifestError, match="two schemes"):
            call(root)


@pytest.mark.parametrize("first", [1, 1000])
def test_the_first_scheme_is_listed_whole(root: Location, first: int) -> None:
    """Names of versions from 1000 on sort before all of the other scheme, so that nothing lies behind the first."""
    last = first + 99
    _make(root, *(f"{version}.manifest" for version in range(first, last + 1)))
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == last
    assert [one.version for one in list_manifests(root, since=last - 2)] == [last - 2, last - 1, last]


def test_beside_a_name_that_is_no_number_all_are_listed(root: Location) -> None:
    """It has the length of one."""
    _make(root, *_v2(*range(1, 101)), f"{'0' * 19}x.manifest")
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 100
    assert Store.asked == [32, 101]


def test_detached_versions_and_other_files_are_passed_over(root: Location) -> None:
    detached = ManifestName((1 << 63) | 77, NamingScheme.DETACHED)
    _make(root, *_v2(*range(1, 101)), detached, "latest_version_hint.json")
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 100
    assert Store.asked == [32, 1]
    _make(root, ".probe-1.tmp")
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 100


def test_stores_without_order_are_listed_whole() -> None:
    store = Store(skip_instance_cache=True)
    assert list_first(store, "bucket--usw2-az1--x-s3/t/_versions", 5) is None
    assert list_first(MemoryFileSystem(), "/t/_versions", 5) is None
