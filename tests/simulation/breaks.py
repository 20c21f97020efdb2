"""`BREAKS`: deliberate breaks of the commit path, each of which the simulator must find."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from types import MappingProxyType, SimpleNamespace
from typing import Any
from unittest.mock import patch

from lance_arrow.io import fsspec_sink
from lance_arrow.table import cleanup, commit, conflicts, strategies, tags
from lance_arrow.table.operations import base
from lance_arrow.table.written_files import WrittenFiles


@dataclass(frozen=True, slots=True)
class Break:
    """A deliberate break.

    Parameters
    ----------
    make
        Breaks the product while it is entered.
    kind
        The store on which it is looked for.
    only
        Writes to draw from; all when empty.
    """

    make: Callable[[], AbstractContextManager[Any]]
    kind: str = "put-if-absent"
    only: tuple[str, ...] = ()


def _no_condition() -> AbstractContextManager[Any]:
    """Manifests replace each other."""

    def create(place: Any, data: bytes, *, synced: bool = True) -> bool:
        place.filesystem.pipe_file(place.path, data)
        return True

    return patch.object(strategies, "create_exclusively", create)


def _no_check() -> AbstractContextManager[Any]:
    """No conflict is seen."""
    return patch.object(commit._Commit, "_check", lambda self, meta, theirs: None)


def _forgotten_pair() -> AbstractContextManager[Any]:
    """An update may follow a deletion in the same fragment."""
    row = MappingProxyType({**conflicts.CONFLICTS["update"], "delete": "."})
    return patch.object(conflicts, "CONFLICTS", MappingProxyType({**conflicts.CONFLICTS, "update": row}))


def _forgotten_keys() -> AbstractContextManager[Any]:
    """Two merges may add one key."""
    marks = {**conflicts._MARKS, "a": conflicts._MARKS["."], "r": conflicts._same_fragment}
    return patch.object(conflicts, "_MARKS", MappingProxyType(marks))


def _early_cleanup() -> AbstractContextManager[Any]:
    """A cleanup does not wait before it removes what no version names."""
    return patch.object(cleanup, "UNNAMED_AGE", datetime.timedelta())


def _early_versions() -> AbstractContextManager[Any]:
    """A cleanup removes versions of any age."""

    def forget(self: cleanup.CleanupRules) -> None:
        object.__setattr__(self, "older_than", datetime.timedelta())

    return patch.object(cleanup.CleanupRules, "__post_init__", forget)


def _blind_cleanup() -> AbstractContextManager[Any]:
    """A cleanup does not ask what other branches need."""
    return patch.multiple(cleanup, _needed_elsewhere=lambda root, line, limits: set(), read_branches=lambda root: {})


def _row_ids_again() -> AbstractContextManager[Any]:
    """Row ids are given from the first one of the version on, twice."""
    plain = base.number_rows

    def number(fragment: Any, first: int, version: int) -> int:
        return max(plain(fragment, first, version) - 1, 0)

    return patch.object(base, "number_rows", number)


def _fragment_ids_again() -> AbstractContextManager[Any]:
    """The ids of new fragments begin with that of the last one."""
    plain = base.next_fragment_id
    return patch.object(base, "next_fragment_id", lambda draft: max(plain(draft) - 1, 0))


@contextlib.contextmanager
def _manifest_first() -> Iterator[None]:
    """Data files are sent after the manifest that names them."""
    held: list[tuple[Any, str, bytes]] = []
    plain_publish, plain_sink = commit._Commit._publish, fsspec_sink.GatheringSink._publish

    def send(self: Any) -> None:
        if "/data/" not in self._path:
            plain_sink(self)
            return
        self._gathered.seek(0)
        held.append((self._filesystem, self._path, self._gathered.read()))
        self._gathered.close()

    def publish(self: Any, place: Any, version: int, data: bytes) -> bool:
        made = plain_publish(self, place, version, data)
        while held:
            filesystem, path, content = held.pop()
            filesystem.pipe_file(path, content)
        return made

    with patch.object(commit._Commit, "_publish", publish), patch.object(fsspec_sink.GatheringSink, "_publish", send):
        yield


def _forgetful_restore() -> AbstractContextManager[Any]:
    """A restore forgets which ids were given since."""

    def apply(self: Any, newest: Any, version: int) -> base.NextVersion:
        draft = base.editable(self.old)
        draft.head.timestamp.CopyFrom(base.editable(newest).head.timestamp)
        return base.NextVersion(draft, self.old)

    return patch.object(base.Restore, "apply", apply)


def _tag_of_nothing() -> AbstractContextManager[Any]:
    """A tag may name a version that is not there."""

    def content(self: Any, version: int, others: Mapping[str, object]) -> bytes:
        return tags.json.dumps({**others, "branch": None, "version": version + 1, "manifestSize": None}).encode()

    return patch.object(tags.TableTags, "_content", content)


def _lost_answer() -> AbstractContextManager[Any]:
    """A commit does not know its own version again, and makes another one."""
    plain = commit._Commit._recorded

    def recorded(self: Any, manifest: Any) -> Any:
        meta, theirs = plain(self, manifest)
        if theirs is not None and theirs.uuid == self._transaction.uuid:
            return SimpleNamespace(version=meta.version, transaction_file=""), replace(theirs, uuid="another")
        return meta, theirs

    return patch.object(commit._Commit, "_recorded", recorded)


def _no_doubt() -> AbstractContextManager[Any]:
    """A failed commit removes its files, although its manifest may be there."""
    return patch.object(
        WrittenFiles, "is_in_doubt", property(lambda self: False, lambda self, value: None), create=True
    )


BREAKS: Mapping[str, Break] = MappingProxyType({
    "no conditional write": Break(_no_condition),
    "no conflict check": Break(_no_check),
    "a forgotten pair": Break(_forgotten_pair),
    "forgotten keys": Break(_forgotten_keys),
    "early cleanup": Break(_early_cleanup),
    "young versions removed": Break(_early_versions),
    "cleanup blind to branches": Break(_blind_cleanup),
    "row ids given again": Break(_row_ids_again),
    "fragment ids given again": Break(_fragment_ids_again),
    "manifest before its data": Break(_manifest_first),
    "restore that forgets": Break(_forgetful_restore),
    "tag of nothing": Break(_tag_of_nothing),
    "lost answer not known": Break(_lost_answer),
    "files removed in doubt": Break(_no_doubt),
})  # fmt: skip
