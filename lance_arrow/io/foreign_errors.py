"""`foreign_errors`: passes exceptions of filesystems on, without credentials in their text.

An exception keeps its type, so that ``except FileNotFoundError`` still works, and its identity. Its text, arguments and
fields change only if they show a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from lance_arrow.errors import LanceError
from lance_arrow.redaction import redact_text

_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")
_PLACES = ("strerror", "filename", "filename2")
_DEEPEST = 4


class foreign_errors:
    """Remove secrets from the text of filesystem exceptions; exceptions of this package do not change.

    Use it around calls of filesystems, or as a decorator of a function that makes them.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None:
            hide_secrets(error)

    def __call__(self, function: Callable[_Parameters, _Answer]) -> Callable[_Parameters, _Answer]:
        # Sinks are called for each buffer: a context manager takes longer than most of these calls.
        @wraps(function)
        def guarded(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Answer:
            try:
                return function(*args, **kwargs)
            except BaseException as error:
                hide_secrets(error)
                raise

        return guarded


def hide_secrets(error: BaseException) -> None:
    """Remove secrets from an exception, its causes, and the members of groups; types do not change.

    This covers its text, its arguments, its fields and its notes. Logs print arguments too. An object that shows a
    secret, such as a request with a URL, becomes a redacted text. The exception gets a subclass of its type with the
    same name, which prints the redacted text. Other fields keep their values.
    """
    # Causes and members first: others may show them.
    for one in reversed(list(_chain(error))):
        text, shown = str(one), repr(one)
        redacted_text, redacted_shown = redact_text(text), redact_text(shown)
        is_changed = _redact_values(one)
        if is_changed or (redacted_text, redacted_shown) != (text, shown):
            _redact_display(one, redacted_text, redacted_shown)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            # Exceptions of this package show no secrets, but those that they replace may.
            if not isinstance(one, LanceError):
                yield one
            waiting += [one.__cause__, one.__context__]
            if isinstance(one, BaseExceptionGroup):
                waiting += one.exceptions


def _redact_values(error: BaseException) -> bool:
    """Redact arguments, fields and notes; return whether one changed that the exception may make its text of."""
    changed = False
    if (args := _redacted(error.args)) is not error.args:
        error.args, changed = args, True
    if isinstance(error, OSError):
        for name in _PLACES:
            value = getattr(error, name)
            if (redacted := _redacted(value)) is not value:
                setattr(error, name, redacted)
                changed = True
    fields = vars(error)
    for name, value in list(fields.items()):
        if (redacted := _redacted(value)) is not value:
            fields[name] = redacted
            changed = changed or name != "__notes__"
    return changed


def _redacted(value: Any, depth: int = 0) -> Any:
    """Return a value without secrets: the same object if it shows none."""
    if isinstance(value, str):
        redacted = redact_text(value)
        return value if redacted == value else redacted
    if value is None or isinstance(value, int | float | BaseException):
        return value
    shown = repr(value)
    redacted = redact_text(shown)
    if redacted == shown:
        return value
    if depth < _DEEPEST:
        if type(value) in (tuple, list):
            return type(value)(_redacted(one, depth + 1) for one in value)
        if type(value) is dict:
            return {_redacted(key, depth + 1): _redacted(one, depth + 1) for key, one in value.items()}
    return redacted


def _redact_display(error: BaseException, text: str, shown: str) -> None:
    kind = type(error)
    if kind.__module__ == "builtins" and _redacted(str(error)) == str(error) and _redacted(repr(error)) == repr(error):
        return
    methods: dict[str, Any] = {
        "__slots__": (),
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__str__": _function_returning(text),
        "__repr__": _function_returning(shown),
        "__reduce__": lambda self: (_built_in_base(kind), (text,)),
    }
    try:
        error.__class__ = type(kind.__name__, (kind,), methods)
    except TypeError:
        # The class of built-in exceptions cannot change, but their text consists of their arguments.
        error.args = (text,)


def _function_returning(text: str) -> Callable[[object], str]:
    return lambda self: text


def _built_in_base(kind: type[BaseException]) -> type[BaseException]:
    """Return the built-in base of an exception type: it can be created from a text alone, also in another process."""
    return next(one for one in kind.__mro__ if one.__module__ == "builtins" and issubclass(one, BaseException))
