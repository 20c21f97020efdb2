"""`left_by_shown`: which files a native file pruner leaves, that learns what files look like as long as it pays."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

# Opening a file takes as long as asking for so many.
_WORTH_A_LOOK = 8


def left_by_shown(
    numbers: Sequence[int],
    asked: Callable[[Sequence[int]], list[int]],
    show: Callable[[int], None],
    is_idle: Callable[[], bool],
) -> list[int]:
    """Return those files in which a row may satisfy a filter.

    Files may have zone maps of a form that was not seen before. So one after another is shown, as long as that
    excludes others.

    Parameters
    ----------
    numbers
        The files, ascending.
    asked
        Returns which of some files the pruner leaves.
    show
        Opens a file and shows it to the pruner.
    is_idle
        Whether nothing more can be learnt.

    Raises
    ------
    LanceError, OSError
        As `show`.
    """
    left = asked(numbers)
    shown, has_paid = numbers[0], True
    while has_paid and not is_idle():
        begin = bisect_left(left, shown)
        if begin == len(left):
            break
        show(left[begin])
        # Those before it satisfy the filter, as far as is known.
        found = asked(left[begin:])
        excluded = set(left[begin:]).difference(found)
        has_paid = len(excluded) > _WORTH_A_LOOK
        shown = max(excluded, default=shown)
        left[begin:] = found
    return left
