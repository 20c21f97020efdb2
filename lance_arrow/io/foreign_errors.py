"""`foreign_errors`: passes exceptions of filesystems on, without credentials in their text.

An exception keeps its type, so that ``except FileNotFoundError`` still works, and its identity. Only its text changes,
and only if it holds a secret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from lance_arrow.errors import LanceError
from lance_arrow.redaction import redact_text

_Parameters = ParamSpec("_Parameters")
_Answer = TypeVar("_Answer")


class foreign_errors:
    """Remove secrets from the text of filesystem exceptions; exceptions of this package do not change.

    Use it around calls of filesystems, or as a decorator of a function that makes them.
    """

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if error is not None and not isinstance(error, LanceError):
            hide_secrets(error)

    def __call__(self, function: Callable[_Parameters, _Answer]) -> Callable[_Parameters, _Answer]:
        # Sinks are called for each buffer: a context manager takes longer than most of these calls.
        @wraps(function)
        def guarded(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Answer:
            try:
                return function(*args, **kwargs)
            except LanceError:
                raise
            except BaseException as error:
                hide_secrets(error)
                raise

        return guarded


def hide_secrets(error: BaseException) -> None:
    """Remove secrets from the text of an exception and of its causes; types do not change.

    Texts among its arguments are changed in place. An exception may build its text from other objects, such as an
    object with a URL. It gets a subclass of its type with the same name, which prints the redacted text. Its fields
    keep their values, for programs.
    """
    for one in _chain(error):
        if redact_text(str(one)) == str(one) and redact_text(repr(one)) == repr(one):
            continue
        one.args = tuple(redact_text(arg) if isinstance(arg, str) else arg for arg in one.args)
        if isinstance(one, OSError):
            for name in ("strerror", "filename", "filename2"):
                value = getattr(one, name)
                if isinstance(value, str):
                    setattr(one, name, redact_text(value))
        if redact_text(str(one)) != str(one) or redact_text(repr(one)) != repr(one):
            _redact_display(one)
    for one in _chain(error):
        notes = getattr(one, "__notes__", None)
        if notes:
            notes[:] = [redact_text(note) for note in notes]


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen and not isinstance(one, LanceError):
            seen.add(id(one))
            yield one
            waiting += [one.__cause__, one.__context__]


def _redact_display(error: BaseException) -> None:
    text, shown = redact_text(str(error)), redact_text(repr(error))
    kind = type(error)
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
