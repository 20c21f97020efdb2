"""The conflict table, cell by cell, against the rules as the format's description words them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lance_arrow.errors import CorruptManifestError
from lance_arrow.proto.table_pb2 import DataFile, DataFragment, IndexMetadata
from lance_arrow.proto.transaction_pb2 import Transaction
from lance_arrow.table.conflicts import CONFLICTS, Footprint, Outcome, footprint_of, judge

OK, RETRY, NO = Outcome.COMPATIBLE, Outcome.RETRYABLE, Outcome.CONFLICT
Group = Transaction.Rewrite.RewriteGroup


def transaction(operation: str, fragment: int = 1, key: str = "k", *, keeps: bool = False) -> Transaction:
    """One that touches a fragment, field 1, and a key or index of a name."""
    made = Transaction()
    fragments = [DataFragment(id=fragment)]
    if operation == "append":
        made.append.fragments.extend(fragments)
    elif operation == "delete":
        made.delete.updated_fragments.extend(fragments)
    elif operation == "delete_all":
        made.delete.deleted_fragment_ids.append(fragment)
    elif operation == "update":
        made.update.updated_fragments.extend(fragments)
    elif operation == "overwrite":
        made.overwrite.config_upsert_values[key] = "v"
    elif operation == "create_index":
        made.create_index.new_indices.append(IndexMetadata(name=key, fields=[1]))
    elif operation == "rewrite":
        made.rewrite.groups.append(Group(old_fragments=fragments))
    elif operation == "merge":
        made.merge.fragments.extend(fragments)
    elif operation == "project":
        made.project.preserves_nullability = keeps
    elif operation == "restore":
        made.restore.version = 1
    elif operation == "update_config":
        made.update_config.config_updates.update_entries.add(key=key, value="v")
    elif operation == "data_replacement":
        made.data_replacement.replacements.add(fragment_id=fragment, new_file=DataFile(fields=[1]))
    elif operation == "clone":
        made.clone.is_shallow = True
    else:
        getattr(made, operation).SetInParent()
    return made


def outcome(mine: Transaction, theirs: Transaction) -> Outcome:
    verdict = judge(footprint_of(mine.SerializeToString()), footprint_of(theirs.SerializeToString()))
    assert bool(verdict.reason) == (verdict.outcome is not OK)
    return verdict.outcome


ALL = (
    "append", "delete", "update", "overwrite", "create_index", "rewrite", "merge", "project", "restore",
    "update_config", "data_replacement",
)  # fmt: skip

# Ours, then what others did in the order of ALL: on another fragment, key and index, then on the same ones.
RULES = {
    "append": ("  OK OK OK NO OK OK RE RE NO OK OK", "OK OK OK NO OK OK RE RE NO OK OK"),
    "delete": ("  OK OK OK NO OK OK RE OK NO OK OK", "OK RE RE NO OK RE RE OK NO OK RE"),
    "update": ("  OK OK OK NO OK OK RE RE NO OK OK", "OK RE RE NO OK RE RE RE NO OK RE"),
    "overwrite": ("OK OK OK RE OK OK OK OK OK OK OK", "OK OK OK RE OK OK OK OK OK NO OK"),
    # Which fragments an index covers is not always told: the same ones, then.
    "create_index": ("OK OK OK NO OK RE OK OK NO OK RE", "OK OK OK NO RE RE OK OK NO OK RE"),
    "rewrite": (" OK OK OK NO RE OK RE OK NO OK OK", "OK RE RE NO RE RE RE OK NO OK RE"),
    "merge": ("   RE RE RE NO OK RE RE NO NO OK RE", "RE RE RE NO OK RE RE NO NO OK RE"),
    "project": (" RE OK RE NO OK OK RE RE NO OK RE", "RE OK RE NO OK OK RE RE NO OK RE"),
    "restore": (" OK OK OK OK OK OK OK OK OK OK OK", "OK OK OK OK OK OK OK OK OK OK OK"),
    "update_config": ("OK OK OK OK OK OK OK OK OK OK OK", "OK OK OK NO OK OK OK OK OK NO OK"),
    "data_replacement": ("OK OK OK NO RE OK RE RE NO OK OK", "OK OK RE NO RE RE RE RE NO OK RE"),
}
MEANING = {"OK": OK, "RE": RETRY, "NO": NO}


@pytest.mark.parametrize("theirs", ALL)
@pytest.mark.parametrize("mine", RULES)
def test_cells(mine: str, theirs: str) -> None:
    apart, together = [MEANING[rules.split()[ALL.index(theirs)]] for rules in RULES[mine]]
    assert outcome(transaction(mine, 1, "k"), transaction(theirs, 2, "other")) is apart
    assert outcome(transaction(mine, 1, "k"), transaction(theirs, 1, "k")) is together


def test_every_cell_is_there() -> None:
    assert set(CONFLICTS) == {*ALL, "reserve_fragments", "update_bases"}
    assert all(set(row) == {*ALL, "reserve_fragments", "clone", "update_bases"} for row in CONFLICTS.values())


@pytest.mark.parametrize("mine", RULES)
def test_operations_that_never_are_in_the_way(mine: str) -> None:
    for theirs in ("reserve_fragments", "clone", "update_bases"):
        assert outcome(transaction(mine), transaction(theirs)) is OK
    expected = NO if mine in ("overwrite", "restore") else OK
    assert outcome(transaction("reserve_fragments"), transaction(mine)) is expected
    assert outcome(transaction("update_bases"), transaction(mine)) is OK
    assert outcome(transaction("update_bases"), transaction("update_bases")) is RETRY


def test_projections_that_keep_nullability() -> None:
    for operation in ("append", "update", "data_replacement"):
        assert outcome(transaction(operation), transaction("project", keeps=True)) is OK
        assert outcome(transaction("project", keeps=True), transaction(operation)) is OK


def test_a_fragment_that_is_gone() -> None:
    assert outcome(transaction("data_replacement"), transaction("delete_all")) is NO
    assert outcome(transaction("data_replacement"), transaction("delete_all", 2)) is OK
    assert outcome(transaction("delete"), transaction("delete_all")) is RETRY


def test_rows_that_may_have_keys_of_a_merge() -> None:
    """A merge looked for keys: others may have added them since."""
    ours = replace(footprint_of(transaction("update").SerializeToString()), finds_keys=True)
    update = transaction("update", 2)
    assert judge(ours, footprint_of(update.SerializeToString())).outcome is OK
    update.update.new_fragments.add(id=3)
    for adds in (transaction("append", 2), update):
        verdict = judge(ours, footprint_of(adds.SerializeToString()))
        assert (verdict.outcome, verdict.reason) == (RETRY, "rows were added that may have keys of the merge")
        assert judge(replace(ours, finds_keys=False), footprint_of(adds.SerializeToString())).outcome is OK


@pytest.mark.parametrize(
    ("mine", "theirs", "reason"),
    [
        ("append", "overwrite", "the content that it changes was replaced"),
        ("append", "merge", "the data that it was computed from has changed"),
        ("append", "project", "a column may have changed whether it allows nulls"),
        ("delete", "update", "both change the same fragment"),
        ("delete", "data_overlay", "its changes are unknown"),
        ("data_replacement", "create_index", "both concern the values of the same column"),
        ("data_replacement", "delete_all", "the fragment whose file would be replaced was deleted"),
    ],
)
def test_reasons_are_told(mine: str, theirs: str, reason: str) -> None:
    ours, others = [footprint_of(transaction(one).SerializeToString()) for one in (mine, theirs)]
    assert judge(ours, others).reason == reason


def test_configuration() -> None:
    replacing = transaction("update_config", key="other")
    replacing.update_config.config_updates.replace = True
    assert outcome(transaction("update_config"), replacing) is NO
    old = Transaction()
    old.update_config.delete_keys.append("k")
    assert outcome(transaction("update_config"), old) is NO
    metadata = Transaction()
    metadata.update_config.schema_metadata_updates.update_entries.add(key="k", value="v")
    assert outcome(transaction("update_config"), metadata) is OK
    assert outcome(transaction("overwrite"), metadata) is NO
    assert outcome(metadata, transaction("overwrite")) is NO
    field = Transaction()
    field.update_config.field_metadata_updates[3].update_entries.add(key="k", value="v")
    assert outcome(metadata, field) is OK
    assert outcome(field, field) is NO
    table = Transaction()
    table.update_config.table_metadata_updates.update_entries.add(key="k", value="v")
    assert outcome(transaction("overwrite"), table) is OK


def test_a_replaced_configuration() -> None:
    """It concerns every key, and who sets none is not in its way."""
    replacing, nothing = transaction("update_config"), Transaction()
    replacing.update_config.config_updates.replace = True
    nothing.overwrite.SetInParent()
    other = transaction("overwrite", key="other")
    for mine, theirs, expected in ((replacing, other, NO), (other, replacing, NO), (replacing, nothing, OK)):
        assert outcome(mine, theirs) is expected
    assert outcome(nothing, replacing) is OK
    ours, theirs = [footprint_of(one.SerializeToString()) for one in (replacing, other)]
    assert judge(ours, theirs).reason == "one replaces the configuration that the other changes"


def test_metadata_of_fields_as_earlier_writers_set_it() -> None:
    first, second, elsewhere = Transaction(), Transaction(), Transaction()
    first.update_config.field_metadata[3].metadata["k"] = "v"
    second.update_config.field_metadata[3].metadata["other"] = "v"
    elsewhere.update_config.field_metadata[4].metadata["k"] = "v"
    assert outcome(first, first) is NO
    assert outcome(first, second) is outcome(first, elsewhere) is OK
    now = Transaction()
    now.update_config.field_metadata_updates[3].update_entries.add(key="k", value="v")
    assert outcome(first, now) is NO
    ours, theirs = [footprint_of(one.SerializeToString()) for one in (transaction("overwrite"), first)]
    assert judge(ours, theirs).reason == "one replaces the schema, the other its metadata"


@pytest.mark.parametrize("mine", RULES)
def test_what_nobody_knows(mine: str) -> None:
    """An operation of the future, or none at all: run again, unless nothing can be in the way."""
    expected = OK if mine == "restore" else RETRY
    assert outcome(transaction(mine), Transaction(uuid="x")) is expected
    assert outcome(transaction(mine), Transaction(update_mem_wal_state=b"")) is expected
    assert outcome(transaction(mine), transaction("data_overlay")) is expected


def test_no_transaction() -> None:
    with pytest.raises(CorruptManifestError, match="not a transaction"):
        footprint_of(b"\xff\xff")
    assert footprint_of(b"") == Footprint(operation=None)
