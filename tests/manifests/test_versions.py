"""Names of manifests, and finding versions on a filesystem, with as few requests as it takes."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path

import manifests
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from hypothesis import given
from hypothesis import strategies as st

from lance_arrow.errors import (
    CorruptManifestError,
    InvalidArgumentError,
    TableNotFoundError,
    VersionNotFoundError,
)
from lance_arrow.io import Location
from lance_arrow.manifests import versions
from lance_arrow.manifests.names import ManifestName, NamingScheme, names_of, parse_name
from lance_arrow.manifests.references import read_branches, read_tag, read_tags
from lance_arrow.manifests.versions import VersionChoice, is_table, list_manifests, newest_manifest, open_version
from lance_arrow.proto.table_pb2 import Manifest
from lance_arrow.settings import Limits


@given(st.integers(1, (1 << 63) - 1), st.sampled_from([NamingScheme.V1, NamingScheme.V2]))
def test_names_come_back(version: int, scheme: NamingScheme) -> None:
    name = ManifestName(version, scheme)
    if scheme is NamingScheme.V1 and version >= 10**19:
        return
    assert parse_name(str(name)) == name
    assert name in names_of(version)


def test_what_names_say() -> None:
    assert parse_name("18446744073709551603.manifest") == ManifestName(12, NamingScheme.V2)
    assert parse_name("12.manifest") == ManifestName(12, NamingScheme.V1)
    detached = (1 << 63) + 5
    assert parse_name(f"d{detached}.manifest") == ManifestName(detached, NamingScheme.DETACHED)
    others = [".tmp_1.manifest", "1.manifest-x", "x.manifest", "d5.manifest", "latest_version_hint.json", "-1.manifest"]
    assert [parse_name(name) for name in others] == [None] * len(others)
    assert parse_name("99999999999999999999.manifest") is None


class CountingFileSystem(MemoryFileSystem):
    """A filesystem in memory that notes what it is asked for."""

    cachable = False
    store: dict = {}  # noqa: RUF012 - as its parent has it, but its own
    pseudo_dirs = [""]  # noqa: RUF012
    asked: list[str] = []  # noqa: RUF012

    def ls(self, path: str, detail: bool = True, **options: object) -> list:
        self.asked.append("ls")
        return super().ls(path, detail=detail, **options)

    def cat_ranges(self, *arguments: object, **options: object) -> list:
        self.asked.append("read")
        return super().cat_ranges(*arguments, **options)


@pytest.fixture
def root() -> Iterator[Location]:
    filesystem = CountingFileSystem()
    yield Location(filesystem, "/t.lance")
    CountingFileSystem.store.clear()
    CountingFileSystem.pseudo_dirs[:] = [""]


def put(root: Location, version: int, scheme: NamingScheme, seconds: int | None = None, **values: object) -> None:
    message = Manifest(version=version, **values)
    if seconds is not None:
        message.timestamp.seconds = seconds
    path = f"{root.path}/_versions/{ManifestName(version, scheme)}"
    root.filesystem.pipe_file(path, manifests.file_of(message))
    root.filesystem.asked.clear()


@pytest.mark.parametrize("scheme", [NamingScheme.V1, NamingScheme.V2])
def test_versions_by_number_and_time(root: Location, scheme: NamingScheme) -> None:
    for version, seconds in ((1, 100), (2, 300), (3, 200), (11, 400)):
        put(root, version, scheme, seconds)
    asked = root.filesystem.asked
    assert open_version(root, VersionChoice()).version == 11
    assert asked == ["ls", "read"]
    asked.clear()
    assert open_version(root, VersionChoice(version=2)).version == 2
    assert asked == ["read"]
    assert [found.version for found in list_manifests(root)] == [1, 2, 3, 11]
    for seconds, version in ((100, 1), (199, 1), (250, 3), (350, 3), (9999, 11)):
        moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
        assert open_version(root, VersionChoice(as_of=moment)).version == version
    with pytest.raises(VersionNotFoundError, match="no version 4; there are 4, from 1 to 11"):
        open_version(root, VersionChoice(version=4))
    with pytest.raises(VersionNotFoundError, match="oldest remaining one is 1"):
        open_version(root, VersionChoice(as_of=datetime.datetime.fromtimestamp(99, datetime.UTC)))


def test_detached_versions_are_opened_by_number_only(root: Location) -> None:
    detached = (1 << 63) + 7
    put(root, 1, NamingScheme.V2)
    put(root, detached, NamingScheme.DETACHED)
    assert open_version(root, VersionChoice()).version == 1
    assert open_version(root, VersionChoice(version=detached)).version == detached


def test_what_is_no_table(root: Location) -> None:
    for choice in (VersionChoice(), VersionChoice(version=1), VersionChoice(as_of="2020-01-01")):
        with pytest.raises(TableNotFoundError, match=r"^there is no table here: no manifest in _versions"):
            open_version(root, choice)
    put(root, 1, NamingScheme.V1)
    put(root, 2, NamingScheme.V2)
    with pytest.raises(CorruptManifestError, match="two schemes"):
        open_version(root, VersionChoice())


def test_branches_are_listed_where_one_is_missing(root: Location) -> None:
    put(root, 1, NamingScheme.V2)
    with pytest.raises(VersionNotFoundError, match="no branch 'c'; branches: none"):
        open_version(root, VersionChoice(branch="c"))
    for name in ("a", "b"):
        content = b'{"parentBranch": null, "parentVersion": 1, "createAt": 5}'
        root.filesystem.pipe_file(f"{root.path}/_refs/branches/{name}.json", content)
    with pytest.raises(VersionNotFoundError, match="no branch 'c'; branches: 'a', 'b'"):
        open_version(root, VersionChoice(branch="c"))


def test_the_newest_of_many_is_found_by_one_name(root: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    for version in range(1, 100):
        put(root, version, NamingScheme.V2)
    parsed: list[str] = []

    def noted(name: str) -> ManifestName | None:
        parsed.append(name)
        return parse_name(name)

    monkeypatch.setattr(versions, "parse_name", noted)
    newest = newest_manifest(root)
    assert newest is not None
    assert (newest.version, len(parsed)) == (99, 1)
    # A longer name may be a newer version of the other scheme, or none: all are looked at.
    root.filesystem.pipe_file(f"{root.path}/_versions/{'9' * 30}.txt", b"")
    newest = newest_manifest(root)
    assert newest is not None
    assert newest.version == 99
    assert len(parsed) > 2


def test_a_local_folder_is_looked_through_up_to_a_version(
    root: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(root, 1, NamingScheme.V2)
    (tmp_path / "_versions").mkdir()
    (tmp_path / "_versions" / str(ManifestName(1, NamingScheme.V2))).touch()
    with monkeypatch.context() as patch:
        patch.setattr(versions, "newest_manifest", None)
        assert is_table(Location(None, str(tmp_path)))
    monkeypatch.setattr(versions, "has_file", None)
    assert is_table(root)


def test_older_versions_of_the_other_scheme_are_seen_without_being_parsed(root: Location) -> None:
    put(root, 1, NamingScheme.V2)
    put(root, 5, NamingScheme.V1)
    with pytest.raises(CorruptManifestError, match="two schemes"):
        list_manifests(root, since=3)


@pytest.mark.parametrize(
    "choice",
    [
        {"version": 1, "tag": "x"},
        {"version": 0},
        {"version": 1 << 64},
        {"version": True},
        {"version": "1"},
        {"as_of": 5},
        {"as_of": "yesterday"},
        {"as_of": datetime.datetime.max},
    ],
)
def test_choices_that_make_no_sense(choice: dict) -> None:
    if choice == {"as_of": datetime.datetime.max}:
        # Whether a clock shows it depends on the time zone.
        choice = {"as_of": datetime.datetime.max.replace(tzinfo=datetime.timezone(datetime.timedelta(hours=-12)))}
    with pytest.raises(InvalidArgumentError):
        VersionChoice(**choice)


def test_references(root: Location) -> None:
    put(root, 1, NamingScheme.V2)
    put(root, 2, NamingScheme.V2)
    side = Location(root.filesystem, f"{root.path}/tree/a/b")
    put(side, 2, NamingScheme.V2, branch="a/b")
    write = root.filesystem.pipe_file
    write(f"{root.path}/_refs/tags/old.json", b'{"version": 1, "manifestSize": 9, "later": [1]}')
    write(f"{root.path}/_refs/tags/side.json", b'{"branch": "a/b", "version": 2}')
    write(f"{root.path}/_refs/branches/a%2Fb.json", b'{"parentBranch": null, "parentVersion": 2, "createAt": 5}')
    assert open_version(root, VersionChoice(tag="old")).version == 1
    assert open_version(root, VersionChoice(tag="side")).branch == "a/b"
    assert open_version(root, VersionChoice(branch="a/b")).branch == "a/b"
    assert open_version(root, VersionChoice(branch="main")).branch is None
    assert {name: tag.branch for name, tag in read_tags(root).items()} == {"old": None, "side": "a/b"}
    assert read_branches(root)["a/b"].parent_version == 2
    with pytest.raises(InvalidArgumentError, match="branch"):
        open_version(root, VersionChoice(tag="side", branch="main"))
    with pytest.raises(VersionNotFoundError, match="no branch 'c'; branches: 'a/b'"):
        open_version(root, VersionChoice(branch="c"))
    for name in ("..", "../x", "a/../b", "", "a//b", "/a"):
        with pytest.raises(InvalidArgumentError):
            open_version(root, VersionChoice(branch=name))
        with pytest.raises(InvalidArgumentError):
            open_version(root, VersionChoice(tag=name))
    lies = (b"{", b"[]", b'{"version": "1"}', b'{"version": -1}', b'{"version": 1, "branch": 5}', b"[" * 100_000)
    for lie in lies:
        write(f"{root.path}/_refs/tags/lie.json", lie)
        with pytest.raises(CorruptManifestError):
            read_tag(root, "lie")
    write(f"{root.path}/_refs/tags/lie.json", b'{"version": 1, "branch": "../../x"}')
    with pytest.raises(InvalidArgumentError, match="branch"):
        open_version(root, VersionChoice(tag="lie"))


def test_large_manifests_are_refused_before_they_are_read(root: Location) -> None:
    put(root, 1, NamingScheme.V2, config={f"key {n}": "value" * 20 for n in range(2000)})
    assert len(open_version(root, VersionChoice()).config) == 2000
    from_limits = Limits(max_metadata_bytes=100_000)
    with pytest.raises(MemoryError, match="max_metadata_bytes"):
        open_version(root, VersionChoice(), from_limits)
