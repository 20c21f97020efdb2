"""`dataclass`: frozen data classes with slots, made in a quarter of the time that `dataclasses.dataclass` takes.

A first read imports about a hundred of them. The standard library compiles six methods for each before Python 3.13,
which takes longer than reading the file. Here one method is compiled, ``__init__``; the others are shared functions.
Instances behave alike: fields, equality, hash, text, pickles, `dataclasses.replace`, `FrozenInstanceError`.

Classes that ask for anything else are made by the standard library.
"""

from __future__ import annotations

import dataclasses
import operator
import reprlib
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

_OWN_METHODS = ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__getstate__", "__setstate__")


class _Factory:
    """Default of a parameter whose field has a factory."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY = _Factory()
_SPECIAL_ANNOTATIONS = ("ClassVar", "InitVar", "KW_ONLY")

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, **options: bool) -> Any:
        """Make a data class; options are those of `dataclasses.dataclass`."""
        if cls is None:
            return lambda decorated: dataclass(decorated, **options)
        eq, kw_only = options.pop("eq", True), options.pop("kw_only", False)
        if options != {"frozen": True, "slots": True} or not _is_simple(cls):
            return dataclasses.dataclass(cls, eq=eq, kw_only=kw_only, **options)
        made = dataclasses.dataclass(cls, init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
        fields = dataclasses.fields(made)
        made.__init__ = _init(made, fields)
        if "__repr__" not in cls.__dict__:
            made.__repr__ = _repr(field.name for field in fields if field.repr)
        if eq:
            made.__eq__ = _eq(field.name for field in fields if field.compare)
            made.__hash__ = _hash(
                field.name for field in fields if (field.compare if field.hash is None else field.hash)
            )
        made.__setattr__, made.__delattr__ = _frozen(made, frozenset(field.name for field in fields))
        made.__getstate__, made.__setstate__ = _getstate, _setstate
        # Subclasses, which the standard library makes, must be frozen too.
        told = made.__dataclass_params__
        told.init, told.repr, told.eq, told.frozen = True, True, eq, True
        return made


def _is_simple(cls: type) -> bool:
    """Return whether a class has fields of its own only, each a parameter of ``__init__``, and leaves methods to us."""
    own = cls.__dict__
    return (
        not any(hasattr(base, "__dataclass_fields__") for base in cls.__mro__[1:])
        and not any(name in own for name in _OWN_METHODS)
        and all(
            isinstance(type_, str) and not any(word in type_ for word in _SPECIAL_ANNOTATIONS)
            for type_ in own.get("__annotations__", {}).values()
        )
        and not any(isinstance(value, dataclasses.Field) and not value.init for value in own.values())
    )


def _init(cls: type, fields: Sequence[dataclasses.Field[Any]]) -> Callable[..., None]:
    """Compile ``__init__`` in the module of the class, so that its annotations can be evaluated."""
    known: dict[str, Any] = {"_set": object.__setattr__, "_missing": _FACTORY}
    positional: list[str] = []
    keywords: list[str] = []
    body: list[str] = []
    for field in fields:
        name, value = field.name, field.name
        parameter = name
        if field.default_factory is not dataclasses.MISSING:
            known[f"_make_{name}"] = field.default_factory
            parameter = f"{name}=_missing"
            value = f"_make_{name}() if {name} is _missing else {name}"
        elif field.default is not dataclasses.MISSING:
            known[f"_default_{name}"] = field.default
            parameter = f"{name}=_default_{name}"
        (keywords if field.kw_only else positional).append(parameter)
        body.append(f"  _set(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        body.append("  self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *keywords] if keywords else [])])
    lines = [
        f"def make({', '.join(known)}):",
        f" def __init__({parameters}):",
        *(body or ["  pass"]),
        " return __init__",
    ]
    found: dict[str, Any] = {}
    # The names of fields come from the source of a class, as those that `dataclasses` compiles.
    exec("\n".join(lines), sys.modules[cls.__module__].__dict__, found)
    made: Callable[..., None] = found["make"](**known)
    made.__annotations__ = {**{field.name: field.type for field in fields}, "return": None}
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


def _values_of(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """Return what gets the values of fields as a tuple."""
    known = tuple(names)
    if len(known) > 1:
        return operator.attrgetter(*known)
    return lambda instance: tuple([getattr(instance, name) for name in known])


def _repr(names: Iterable[str]) -> Callable[[Any], str]:
    known = tuple(names)

    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:
        shown = ", ".join([f"{name}={getattr(self, name)!r}" for name in known])
        return f"{type(self).__qualname__}({shown})"

    return __repr__


def _eq(names: Iterable[str]) -> Callable[[Any, object], Any]:
    values = _values_of(names)

    def __eq__(self: Any, other: object) -> Any:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash(names: Iterable[str]) -> Callable[[Any], int]:
    values = _values_of(names)

    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _frozen(cls: type, names: frozenset[str]) -> tuple[Callable[[Any, str, object], None], Callable[[Any, str], None]]:
    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        object.__setattr__(self, name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        object.__delattr__(self, name)

    return __setattr__, __delattr__


def _getstate(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _setstate(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
