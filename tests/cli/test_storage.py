from __future__ import annotations

import pytest

from lance_arrow.cli.storage import parse_storage_options
from lance_arrow.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("anon=true", True),
        ("anon=false", False),
        ("token=null", None),
        ("retries=3", 3),
        ('client_kwargs={"region_name": "eu-west-1"}', {"region_name": "eu-west-1"}),
        ("secret=a=b==", "a=b=="),
        ("key=", ""),
        ('key="123"', "123"),
        ("version=1.50", "1.50"),
        ("list=[1]", "[1]"),
        ("endpoint_url=http://localhost:9000", "http://localhost:9000"),
        ("broken={", "{"),
        ("nan=NaN", "NaN"),
    ],
)
def test_a_value_is_json_where_it_is_an_object_an_integer_or_a_constant(text: str, value: object) -> None:
    key = text.partition("=")[0]
    found = parse_storage_options([text])
    assert found == {key: value}
    assert type(found[key]) is type(value)


def test_several_options_make_one_mapping_and_none_make_none() -> None:
    assert parse_storage_options(["a=1", "b=x"]) == {"a": 1, "b": "x"}
    assert parse_storage_options([]) is None
    assert parse_storage_options(None) is None


@pytest.mark.parametrize("options", [["hunter2"], ["=hunter2"], ["key=hunter2", "key=hunter2"]])
def test_wrong_options_are_refused_without_repeating_a_secret(options: list[str]) -> None:
    with pytest.raises(InvalidArgumentError, match="--storage-option") as caught:
        parse_storage_options(options)
    assert "hunter2" not in str(caught.value)
