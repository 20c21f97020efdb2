"""`CarriedFacts`: facts that a page of a column gets from the pages before it, with any number of threads.

A fact is a result of an encoder for a page, such as a symbol table. It may serve the next page of the same column. A
page asks for the fact of the page before, and waits until that one has it or ends. So the same rows give the same bytes
with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any, Self

_CHANGED = Condition()
"""One for all pages: a page asks once or twice."""


class CarriedFacts:
    """Facts of one page. Enter it to encode the page: the next pages wait for its end at most.

    Pages must begin in their order: a page that waits for one which no thread begins would wait forever.

    Parameters
    ----------
    before
        Those of the page before it in the column; None for the first.
    """

    __slots__ = ("_before", "_facts", "_is_done")

    def __init__(self, before: CarriedFacts | None = None) -> None:
        self._before = before
        self._facts: dict[Hashable, Any] = {}
        self._is_done = False

    def carried(self, name: Hashable, find: Callable[[Any], Any]) -> Any:
        """Return ``find(fact of the pages before)``, and carry the first such result of this page to the next pages.

        `find` gets None if no page before has the fact.
        """
        found = find(None if self._before is None else self._before._known(name))
        with _CHANGED:
            self._facts.setdefault(name, found)
            _CHANGED.notify_all()
        return found

    def _known(self, name: Hashable) -> Any:
        with _CHANGED:
            page: CarriedFacts | None = self
            while page is not None:
                _CHANGED.wait_for(lambda page=page: page._is_done or name in page._facts)  # type: ignore[misc]
                if name in page._facts:
                    return page._facts[name]
                page = page._before
        return None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with _CHANGED:
            self._is_done = True
            before = self._before
            # Pages that are done are not kept: what they carry is carried from here.
            while before is not None and before._is_done:
                self._facts = {**before._facts, **self._facts}
                self._before = before = before._before
            _CHANGED.notify_all()
