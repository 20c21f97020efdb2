"""`CarriedFacts`: facts that a page of a column gets from the pages before it, with any number of threads.

A fact is a result of an encoder for a page, such as a symbol table. It may serve the next page of the same column. A
page that asks for a fact waits until the page before has found it or has ended. So the same rows give the same bytes
with any number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Condition
from typing import Any

_CHANGED = Condition()
"""One for all pages: a page asks once or twice."""
_waiting: list[CarriedFacts] = []
"""Waiting pages; with none, no thread is notified."""


class CarriedFacts:
    """Facts of one page. Call `end` when the page is encoded or has failed.

    Pages must begin in their order, because a page waits for the one before it.

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
        self._facts.setdefault(name, found)
        self._wake()
        return found

    def end(self) -> None:
        """Let pages that wait for this one go on."""
        before = self._before
        # Pages that are done are not kept: their facts are carried from here.
        while before is not None and before._is_done:
            self._facts = {**before._facts, **self._facts}
            self._before = before = before._before
        self._is_done = True
        if _waiting:
            self._wake()

    def _known(self, name: Hashable) -> Any:
        page: CarriedFacts | None = self
        while page is not None:
            if not page._is_done and name not in page._facts:
                page._wait(name)
            # In this order: `end` fills the facts before it forgets the page before.
            before = page._before
            if name in page._facts:
                return page._facts[name]
            page = before
        return None

    def _wait(self, name: Hashable) -> None:
        with _CHANGED:
            _waiting.append(self)
            try:
                _CHANGED.wait_for(lambda: self._is_done or name in self._facts)
            finally:
                _waiting.remove(self)

    def _wake(self) -> None:
        with _CHANGED:
            _CHANGED.notify_all()
