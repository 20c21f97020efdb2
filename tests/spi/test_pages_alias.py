"""`lance_arrow.spi.pages`, the former place of the toolkit for authors of layouts."""

import pytest

import lance_arrow.spi.pages as former
from lance_arrow import pages


def test_names_are_found_at_their_former_place_with_a_warning() -> None:
    with pytest.warns(DeprecationWarning, match=r"spi\.pages is now lance_arrow\.pages"):
        assert former.ChunkedPages is pages.ChunkedPages


def test_what_never_was_there_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        former.no_such_name  # noqa: B018
