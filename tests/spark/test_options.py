"""Options: typed, case-blind, refused by name; secrets never printed."""

from __future__ import annotations

import pytest

from lance_arrow.errors import InvalidArgumentError
from lance_arrow.spark.options import READ_NAMES, WRITE_NAMES, ReadChoices, SourceOptions, TableAddress, WriteChoices


def read(**given: str) -> ReadChoices:
    return ReadChoices.of(SourceOptions({"path": "/t", **given}, READ_NAMES))


def test_all_read_options() -> None:
    given = {"version": "3", "columns": " a, b.c", "filter": "a > 3", "batchsize": "7", "splitROWS": "8"}
    given |= {"splitbytes": "9", "withrowid": "TRUE", "blobs": "descriptors", "timestamps": "truncate", "branch": "b"}
    found = read(**given, pushfilters="false", maxprunedfragments="0", verify="off")
    assert found == ReadChoices(
        address=TableAddress("/t"),
        version=3,
        columns=("a", "b.c"),
        filter="a > 3",
        batch_rows=7,
        split_rows=8,
        split_bytes=9,
        with_row_id=True,
        blobs="descriptors",
        truncates_times=True,
        max_pruned_fragments=0,
        verify="off",
        branch="b",
    )


def test_columns_with_commas_are_a_json_list() -> None:
    assert read(columns='["a,b", "c"]').columns == ("a,b", "c")
    with pytest.raises(InvalidArgumentError, match="columns"):
        read(columns="[1]")
    with pytest.raises(InvalidArgumentError, match="columns is not a JSON list"):
        read(columns="[a")


def test_write_options() -> None:
    options = SourceOptions(
        {
            "path": "/t",
            "ifexists": "ignore",
            "rowsperzone": "0",
            "clusterby": "a,b",
            "columnoptions": '{"a": {"codec": "x"}}',
        },
        WRITE_NAMES,
    )
    found = WriteChoices.of(options)
    assert (found.if_exists, found.rows_per_zone, found.cluster_by) == ("ignore", 0, ("a", "b"))
    assert found.column_options == {"a": {"codec": "x"}}


def test_unknown_option_offers_the_nearest() -> None:
    with pytest.raises(InvalidArgumentError, match="no option 'fliter'; did you mean 'filter'"):
        read(fliter="a > 1")
    with pytest.raises(InvalidArgumentError, match="there are path, version"):
        read(zzzzzz="1")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "x"),
        ("version", "0"),
        ("batchSize", "-1"),
        ("withRowId", "yes"),
        ("blobs", "x"),
        ("splitRows", "1.5"),
    ],
)
def test_values_that_make_no_sense(name: str, value: str) -> None:
    with pytest.raises(InvalidArgumentError, match=f"option {name} is {value!r}"):
        read(**{name.lower(): value})


def test_a_path_is_needed() -> None:
    with pytest.raises(InvalidArgumentError, match="needs a path"):
        ReadChoices.of(SourceOptions({}, READ_NAMES))


def test_storage_options_reach_the_filesystem_and_no_text() -> None:
    given = {"storage.anon": "true", "storage.key": "0123", "storageoptions": '{"client_kwargs": {"Endpoint": "e"}}'}
    found = read(**given)
    assert found.address.storage_options == {"client_kwargs": {"Endpoint": "e"}, "anon": True, "key": "0123"}
    assert "0123" not in repr(found)
    with pytest.raises(InvalidArgumentError) as caught:
        read(storageoptions='{"secret": "hunter2"')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("uri", ["file:/tmp/t", "file:///tmp/t", "/tmp/t"])
def test_local_paths_as_spark_writes_them(uri: str) -> None:
    options = SourceOptions({"path": uri}, READ_NAMES)
    assert TableAddress.of(options).location().path == "/tmp/t"
