"""`lance_arrow.records.dataclass` makes what `dataclasses.dataclass` makes."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import field
from typing import Any, ClassVar, get_type_hints

import pytest

from lance_arrow import records


@records.dataclass(frozen=True, slots=True)
class Own:
    """As `Standard`."""

    name: str
    sizes: list[int] = field(default_factory=list, compare=False)
    secret: str = field(default="x", repr=False)
    parent: Own | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    """As `Own`."""

    name: str
    sizes: list[int] = field(default_factory=list, compare=False)
    secret: str = field(default="x", repr=False)
    parent: Standard | None = None


@records.dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Checked:
    """Keywords only, with a check."""

    least: int
    most: int = 3

    def __post_init__(self) -> None:
        if self.least > self.most:
            raise ValueError("least is above most")


@records.dataclass(frozen=True, slots=True)
class Sub(Own):
    """A subclass, which the standard library makes."""

    more: int = 0


@records.dataclass(frozen=True, slots=True)
class WithClassVariable:
    """One that the standard library makes."""

    kind: ClassVar[str] = "k"
    number: int = 1


PAIRS = [(Own, Standard)]


@pytest.mark.parametrize(("own", "standard"), PAIRS)
def test_signature_text_and_fields_are_those_of_the_standard_library(own: Any, standard: Any) -> None:
    def text(given: object) -> str:
        return str(given).replace("Standard", "Own")

    assert text(inspect.signature(own)) == text(inspect.signature(standard))
    assert repr(own("a", [1], "s")) == text(repr(standard("a", [1], "s")))
    assert [one.name for one in dataclasses.fields(own)] == [one.name for one in dataclasses.fields(standard)]
    assert own.__match_args__ == standard.__match_args__
    assert own.__slots__ == standard.__slots__
    assert text(own.__dataclass_params__) == text(standard.__dataclass_params__)
    assert get_type_hints(own.__init__)["sizes"] == list[int]
    assert dataclasses.asdict(own("a")) == dataclasses.asdict(standard("a"))


@pytest.mark.parametrize("make", [Own, Standard])
def test_values_compare_and_hash_by_their_compared_fields(make: Any) -> None:
    assert make("a", [1]) == make("a", [2])
    assert make("a") != make("b")
    assert make("a").__eq__(object()) is NotImplemented
    assert hash(make("a", [1])) == hash(make("a", [2])) == hash(("a", "x", None))
    assert make("a").sizes is not make("a").sizes


@pytest.mark.parametrize("make", [Own, Standard, Sub])
def test_instances_are_frozen_and_travel(make: Any) -> None:
    value = make("a", [1, 2], parent=make("b"))
    for other in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value), dataclasses.replace(value)):
        assert other == value
        assert other.sizes == [1, 2]
    for act in (lambda: setattr(value, "name", "c"), lambda: delattr(value, "name")):
        with pytest.raises(dataclasses.FrozenInstanceError, match="field 'name'"):
            act()
    with pytest.raises((dataclasses.FrozenInstanceError, TypeError, AttributeError)):
        value.other = 1
    assert dataclasses.replace(value, name="c").name == "c"


def test_keywords_checks_and_identity() -> None:
    assert Checked(least=1) != Checked(least=1)
    assert repr(Checked(least=1)) == "Checked(least=1, most=3)"
    with pytest.raises(ValueError, match="above"):
        Checked(least=4)
    with pytest.raises(TypeError):
        Checked(1)  # type: ignore[misc]
    assert str(inspect.signature(Checked)) == "(*, least: 'int', most: 'int' = 3) -> None"


def test_others_are_made_by_the_standard_library() -> None:
    assert Sub("a", more=2) == Sub("a", more=2) != Sub("a")
    assert WithClassVariable() == WithClassVariable(1)
    assert [one.name for one in dataclasses.fields(WithClassVariable)] == ["number"]
    assert not WithClassVariable.__dataclass_params__.order  # type: ignore[attr-defined]


def test_a_value_that_holds_itself_is_shown() -> None:
    value = Own("a")
    value.sizes.append(value)  # type: ignore[arg-type]
    assert repr(value) == "Own(name='a', sizes=[...], parent=None)"
