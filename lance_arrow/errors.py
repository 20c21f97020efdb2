"""The error tree: every failure says what is wrong, what was expected, and where.

All errors are a `LanceError` and also the built-in a caller would expect. `located()` adds what an inner layer
could not know (file, column, page) as fields and as one note per layer; it never changes the type.
"""

from __future__ import annotations

from collections.abc import Iterable

from lance_arrow.redaction import redact


class LanceError(Exception):
    """Base class of all errors of this package.

    Parameters
    ----------
    message
        What is wrong, then what was expected; places are given by the keywords.
    path, column, page, byte_range
        Place: file path without credentials, dotted column path, page number in the column, and half-open
        ``(start, stop)`` bytes of the file. Each may be unknown (None) and be filled in later by `located()`.
    detail
        Facts for programs (the offending value, a limit's name), not repeated in the message.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        column: str | None = None,
        page: int | None = None,
        byte_range: tuple[int, int] | None = None,
        detail: object = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = None if path is None else redact(path)
        self.column = column
        self.page = page
        self.byte_range = byte_range
        self.detail = detail

    def __str__(self) -> str:
        where = []
        if self.column is not None:
            where.append(f"column {self.column!r}")
        if self.page is not None:
            where.append(f"page {self.page}")
        if self.byte_range is not None:
            where.append(f"bytes {self.byte_range[0]}..{self.byte_range[1]}")
        if self.path is not None:
            where.append(f"file {self.path!r}")
        return f"{self.message} [{', '.join(where)}]" if where else self.message

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.message, self.__dict__.copy())


def _rebuild(cls: type[LanceError], message: str, fields: dict[str, object]) -> LanceError:
    error = cls(message)
    error.__dict__.update(fields)
    return error


class CorruptFileError(LanceError, ValueError):
    """The bytes contradict the format or themselves."""


class CorruptPageError(CorruptFileError):
    """A page contradicts its own description, after that description was accepted."""


class CorruptManifestError(CorruptFileError):
    """Table metadata contradicts the format or itself."""


class MissingFileError(CorruptManifestError, FileNotFoundError):
    """A file that the manifest names is absent."""


class TruncatedReadError(LanceError, EOFError):
    """A source returned fewer bytes than it promised."""


class StoreError(LanceError, OSError):
    """A store, or the network to it, failed, and asking again did not help or could not.

    Parameters
    ----------
    attempts
        How often it was asked.
    status
        What a server of HTTP answered, if it is known.
    is_repeatable
        Whether asking again may help: answers of a wrong range.
    """

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        byte_range: tuple[int, int] | None = None,
        detail: object = None,
        attempts: int = 1,
        status: int | None = None,
        is_repeatable: bool = False,
    ) -> None:
        super().__init__(message, path=path, byte_range=byte_range, detail=detail)
        self.attempts = attempts
        self.status = status
        self.is_repeatable = is_repeatable


class StoreTimeoutError(StoreError):
    """A store did not answer before the deadline; the message names the setting that moves it.

    It is no `TimeoutError`: fsspec replaces each of these by one of its own.
    """


class StoreRefusedError(StoreError, PermissionError):
    """A store refused the credentials, or what they may do."""


class FileChangedError(LanceError, OSError):
    """A file was replaced while it was read; open it again."""


class UnsupportedError(LanceError, NotImplementedError):
    """Valid, but not supported by this package."""


class NotPicklableError(UnsupportedError, TypeError):
    """An object of one process was pickled or copied; the message names what to pickle instead."""


class UnknownEncodingError(UnsupportedError):
    """No installed plugin provides an encoding; the error of a broken plugin that declares it is the cause."""


class UnsupportedFeatureFlagError(UnsupportedError):
    """A manifest needs a feature that this release does not know; raised before any row is read."""


class PluginError(LanceError):
    """A plugin is broken, or two plugins conflict."""


class PluginConflictError(PluginError):
    """Two plugins provide one key and no preference decides."""


class PluginContractError(PluginError):
    """A plugin returned the wrong count, shape or size."""


class PluginLoadError(PluginError):
    """A plugin could not be imported, and the settings or the data need it."""


class ResourceLimitError(LanceError, MemoryError):
    """A declared size is above `Limits`; the message names the limit and how to raise it."""


class InvalidArgumentError(LanceError, ValueError):
    """An argument is wrong; the message names it and what was expected."""


class TableNotFoundError(LanceError, FileNotFoundError):
    """There is no table at this place."""


class TableExistsError(LanceError, FileExistsError):
    """There is a table at the target."""


class TargetExistsError(LanceError, FileExistsError):
    """There is a file at the target, and `overwrite` was not given."""


class VersionNotFoundError(LanceError, LookupError):
    """The table has no such version, tag or branch."""


class ChangesNotRecordedError(LanceError, LookupError):
    """What changed between two versions cannot be told from the table; the message names what is missing.

    Parameters
    ----------
    version
        The version at which the record ends or is ambiguous: changes up to the one before, and since this one, may
        still be known. None if the table as a whole lacks something.
    """

    def __init__(
        self,
        message: str,
        *,
        version: int | None = None,
        path: str | None = None,
        column: str | None = None,
        detail: object = None,
    ) -> None:
        super().__init__(message, path=path, column=column, detail=detail)
        self.version = version


class CommitConflictError(LanceError):
    """Another writer committed first, and this change cannot be combined with that one.

    Parameters
    ----------
    ours, theirs
        The two transactions, printable.
    retryable
        Whether running the whole operation again may succeed.
    """

    def __init__(
        self,
        message: str,
        *,
        ours: object = None,
        theirs: object = None,
        retryable: bool = False,
        path: str | None = None,
    ) -> None:
        super().__init__(message, path=path)
        self.ours = ours
        self.theirs = theirs
        self.retryable = retryable


class InternalError(LanceError, AssertionError):
    """An invariant of this package broke: always a bug."""


class located:
    """Fill in the place of a `LanceError` that passes by, and note the stage.

    Only unknown fields are filled, so the innermost (most exact) place wins. The type never changes; errors that
    are not ours pass untouched.
    """

    __slots__ = ("_byte_range", "_column", "_page", "_path", "_stage")

    def __init__(
        self,
        *,
        path: str | None = None,
        column: str | None = None,
        page: int | None = None,
        byte_range: tuple[int, int] | None = None,
        stage: str | None = None,
    ) -> None:
        self._path = path
        self._column = column
        self._page = page
        self._byte_range = byte_range
        self._stage = stage

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, LanceError):
            self.fill(error)

    def fill(self, error: LanceError) -> None:
        """Fill in what the error does not know."""
        if error.path is None and self._path is not None:
            error.path = redact(self._path)
        if error.column is None:
            error.column = self._column
        if error.page is None:
            error.page = self._page
        if error.byte_range is None:
            error.byte_range = self._byte_range
        if self._stage is not None:
            error.add_note(f"while {self._stage}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return ``"; did you mean 'x'?"``, to be appended to a message about an unknown name; empty if none is near.

    Parameters
    ----------
    name
        What was given.
    known
        Names there are.
    """
    if not isinstance(name, str):
        return ""
    import difflib  # noqa: PLC0415 - for messages alone

    by_case = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), list(by_case), n=1)
    return f"; did you mean {by_case[near[0]]!r}?" if near else ""
