"""`SameVersion`: executors with another version of this package reject pickles of the driver in one sentence.

Names and fields of classes change between versions: unpickling them would fail in ways that name no cause. So pickles
are wrapped as (version, bytes), and the version is compared before the bytes are unpickled.
"""

from __future__ import annotations

import importlib.metadata
import pickle
from functools import cache
from typing import Any

from lance_arrow.errors import UnsupportedError


class SameVersion:
    """Base of classes whose pickles are refused by another version of this package."""

    __slots__ = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return unpacked, (own_version(), pickle.dumps((type(self), self.__getstate__())))


def unpacked(version: str, content: bytes) -> Any:
    """Unpickle an instance.

    Parameters
    ----------
    version
        Of the package that sent it.
    content
        Class and state of an instance, pickled.

    Raises
    ------
    UnsupportedError
        Another version of this package is installed here.
    """
    check_version(version)
    kind, state = pickle.loads(content)
    made = kind.__new__(kind)
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
    else:
        made.__dict__.update(state)
    return made


def check_version(sender: str) -> None:
    """Reject a sender of another version; the error is that of `unpacked`."""
    own = own_version()
    if own != sender:
        raise UnsupportedError(
            f"the driver runs lance-arrow {sender} and this executor lance-arrow {own}: "
            "install the same version on both",
            detail=(sender, own),
        )


@cache
def own_version() -> str:
    """Return the version of this package as it is installed."""
    return importlib.metadata.version("lance-arrow")
