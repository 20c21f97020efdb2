"""Random histories of one table, written by turns by us and by the reference, compared after every step.

What a step must give is computed here with pyarrow alone; where rows move, their new order is what the reference reads.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from copied_early import copied_early
from same import assert_same
from witness import Witness

from lance_arrow import LanceTable
from lance_arrow.scan.fragments import fragment_groups, table_taking
from lance_arrow.scan.sql_predicates import parse_sql

ADDRESSES = ["_rowid", "_rowaddr"]
STEPS = (
    "append", "append", "some_columns", "delete", "delete", "nothing", "restore", "overwrite", "tag", "empty",
    "update", "update", "add_column", "drop_column", "rename", "cast", "compact", "compact", "merge", "merge", "index",
    "reindex", "configure", "branch", "clean",
)  # fmt: skip


@contextmanager
def joined_early() -> Iterator[None]:
    """Read fragments together as soon as there are two."""
    least = table_taking.LEAST_JOINED, fragment_groups.LEAST_GROUPED
    table_taking.LEAST_JOINED = fragment_groups.LEAST_GROUPED = 2
    try:
        yield
    finally:
        table_taking.LEAST_JOINED, fragment_groups.LEAST_GROUPED = least


class History:
    """One table and what each of its versions must hold.

    Parameters
    ----------
    witness
        The reference.
    path
        Where the table is made.
    seed
        Of all choices.
    is_old
        Whether the reference is release 4.0.0, which misreads what it wrote itself: filters make structs of nulls out
        of its null structs, do not find rows by its ZONEMAP indices of several fragments, and find updated rows, or
        fail, by other indices of tables with stable row ids. Histories have nothing of that.
    """

    def __init__(self, witness: Witness, path: Path, seed: int, *, is_old: bool = False) -> None:
        self.witness = witness
        self.path = path
        self._is_old = is_old
        self.random = np.random.default_rng(seed)
        self.expected: dict[int, pa.Table] = {}
        self.tags: dict[str, int] = {}
        self.config: dict[str, str] = {}
        self.branches: dict[str, pa.Table] = {}
        self.next_id = 0
        self.log: list[str] = []
        stable = self._has_stable_row_ids = bool(self.random.integers(2))
        rows = self._rows(int(self.random.integers(1, 40)))
        limit = int(self.random.integers(5, 30))
        if self.random.integers(2):
            version = str(self.random.choice(["2.1", "2.2"]))
            LanceTable.create(path, rows, file_version=version, max_rows_per_file=limit, enable_stable_row_ids=stable)
        else:
            v2_names = bool(self.random.integers(2))
            witness.write_directory(
                rows, path, "2.2", max_rows_per_file=limit, enable_stable_row_ids=stable,
                enable_v2_manifest_paths=v2_names,
            )  # fmt: skip
        self.version = 1
        self.expected[1] = rows
        self.table = LanceTable.open(path)

    def run(self, num_steps: int) -> None:
        """Do steps, comparing after each; the first difference raises, with the steps so far in a note."""
        try:
            self.compare()
            for _ in range(num_steps):
                self._step()
                self.compare()
            for version in self.expected:
                self.compare(version)
            for name, rows in self.branches.items():
                side = LanceTable.open(self.path, branch=name)
                assert_same(rows, side.to_table())
                assert_same(rows, self.witness.read_version(self.path, None, name))
        except BaseException as error:
            error.add_note("\n".join(self.log))
            raise

    def compare(self, version: int | None = None) -> None:
        """Compare the newest version, or an older one, by both readers."""
        theirs = self.witness.read_version(self.path, version, with_row_id=True, with_row_address=True)
        opened = LanceTable.open(self.path, version=version)
        expected = self.expected[self.version if version is None else version]
        assert opened.version == (self.version if version is None else version)
        assert_same(expected, opened.to_table())
        assert_same(expected, theirs.drop_columns(ADDRESSES))
        with joined_early():
            assert_same(theirs, opened.to_table(columns=theirs.column_names))
        assert opened.count_rows() == expected.num_rows
        if version is None:
            self._ask(opened)
            self._take(opened, theirs)
            assert {name: tag.version for name, tag in opened.tags.items()} == self.tags
            assert self.branches.keys() == opened.branches.keys()

    def _ask(self, opened: LanceTable) -> None:
        """A filter, by whatever indices and zones there are."""
        rows = self.expected[self.version]
        number = int(self.random.integers(0, max(1, self.next_id)))
        questions = [f"id = {number}", f"id >= {number}", f"id < {number} AND id > {number - 20}"]
        if "v" in rows.column_names:
            questions.append(f"v > {number * 0.5}")
        if "s" in rows.column_names:
            questions += ["s IS NULL", f"s = 'text {number % 13}'"]
        text = str(self.random.choice(questions))
        try:
            with joined_early():
                ours = sorted(map(repr, opened.to_table(filter=text).to_pylist()))
            assert ours == sorted(map(repr, rows.filter(parse_sql(text, rows.schema)).to_pylist()))
            theirs = sorted(map(repr, self.witness.read_version(self.path, None, None, filter=text).to_pylist()))
            differing = sorted(set(ours) - set(theirs)), sorted(set(theirs) - set(ours))
            assert ours == theirs, f"ours alone {differing[0][:3]}, theirs alone {differing[1][:3]}"
        except AssertionError as error:
            error.add_note(f"asked for {text}, indices {opened.indices}")
            raise

    def _take(self, opened: LanceTable, theirs: pa.Table) -> None:
        """Rows by number and by id, some of them twice, from all fragments together as soon as there are two."""
        if not theirs.num_rows:
            return
        wanted = self.random.integers(theirs.num_rows, size=theirs.num_rows + 5)
        names = theirs.column_names
        rows = theirs.take(pa.array(wanted)).combine_chunks()
        with joined_early():
            for _ in range(2):
                assert_same(rows, opened.take(wanted, columns=names).combine_chunks())
                assert_same(rows, opened.take_row_ids(rows["_rowid"], columns=names).combine_chunks())

    def _step(self) -> None:
        rows = self.expected[self.version]
        is_ours = bool(self.random.integers(2))
        step = str(self.random.choice(STEPS))
        self.log.append(f"{self.version}: {step} by {'us' if is_ours else 'them'}, {rows.num_rows} rows")
        if is_ours and self.random.integers(3):
            # A handle that has not seen what the reference did since is moved forward by the commit itself.
            self.table = LanceTable.open(self.path)
        elif is_ours and self.table.version < max(self.expected, default=0):
            self.table = self.table.checkout(max(self.expected))
        made = getattr(self, f"_{step}")(rows, is_ours)
        if made is not None:
            self.version += 1
            self.expected[self.version] = made

    def _append(self, rows: pa.Table, is_ours: bool, added: pa.Table | None = None) -> pa.Table:
        if added is None:
            added = self._like(rows, self._rows(int(self.random.integers(1, 25))))
        if is_ours:
            shuffled = added.select(self.random.permutation(added.column_names).tolist())
            self.table.append(shuffled, max_rows_per_file=int(self.random.integers(3, 30)))
        else:
            self.witness.change_table(self.path, {"do": "append", "rows": added})
        return pa.concat_tables([rows, self._filled(added, rows.schema)]).combine_chunks()

    def _some_columns(self, rows: pa.Table, is_ours: bool) -> pa.Table:
        added = self._like(rows, self._rows(int(self.random.integers(1, 10))))
        # A column that is not given is null, structs too.
        always = [name for name in added.column_names if pa.types.is_struct(added.schema.field(name).type)]
        always = ["id", *(always if self._is_old else ())]
        kept = [name for name in added.column_names if name in always or self.random.integers(2)]
        return self._append(rows, is_ours, added.select(kept))

    def _empty(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        if not is_ours:
            return None
        self.table.append(self._like(rows, self._rows(0)))
        return rows

    def _delete(self, rows: pa.Table, is_ours: bool, modulus: int | None = None) -> pa.Table:
        modulus = int(self.random.integers(2, 9)) if modulus is None else modulus
        low = int(self.random.integers(0, max(1, self.next_id)))
        high = low + int(self.random.integers(1, 40))
        remainder = int(self.random.integers(modulus))
        field = pc.field("id")
        multiple = field - pc.floor(field / pc.scalar(float(modulus))).cast(pa.int64()) * modulus
        condition = (field >= low) & (field < high) & (multiple == remainder)
        if is_ours:
            self.table.delete(condition)
        else:
            text = f"id >= {low} and id < {high} and id % {modulus} = {remainder}"
            self.witness.change_table(self.path, {"do": "delete", "predicate": text})
        ids = rows["id"].to_numpy()
        gone = (ids >= low) & (ids < high) & (ids % modulus == remainder)
        return rows.filter(pa.array(~gone)).combine_chunks()

    def _nothing(self, rows: pa.Table, is_ours: bool) -> pa.Table:
        if is_ours:
            self.table.delete([("id", "<", 0)])
        else:
            self.witness.change_table(self.path, {"do": "delete", "predicate": "id < 0"})
        return rows

    def _restore(self, rows: pa.Table, is_ours: bool) -> pa.Table:
        version = int(self.random.choice(list(self.expected)))
        if is_ours:
            self.table.restore(version)
        else:
            self.witness.change_table(self.path, {"do": "restore", "version": version})
        return self.expected[version]

    def _overwrite(self, rows: pa.Table, is_ours: bool) -> pa.Table:
        made = self._rows(int(self.random.integers(1, 30)))
        made = made.select(made.column_names[: int(self.random.integers(1, 4))])
        if is_ours:
            self.table.overwrite(made, max_rows_per_file=11)
        else:
            self.witness.change_table(self.path, {"do": "overwrite", "rows": made})
        return made

    def _tag(self, rows: pa.Table, is_ours: bool) -> None:
        name = f"t{self.random.integers(3)}"
        version = int(self.random.choice(list(self.expected)))
        known = name in self.tags
        drops = known and bool(self.random.integers(2))
        if is_ours:
            tags = self.table.tags
            if drops:
                tags.delete(name)
            else:
                (tags.update if known else tags.create)(name, version)
        else:
            job = "delete" if drops else "update" if known else "create"
            step: dict[str, Any] = {"do": "change_tag", "change": job, "name": name}
            self.witness.change_table(self.path, step if drops else {**step, "version": version})
        if drops:
            del self.tags[name]
        else:
            self.tags[name] = version

    def _update(self, rows: pa.Table, is_ours: bool) -> None:
        remainder = int(self.random.integers(5))
        change = [{**row, "id": row["id"] + 1000} if row["id"] % 5 == remainder else row for row in rows.to_pylist()]
        if is_ours:
            self.table.update({"id": "id + 1000"}, f"id % 5 = {remainder}")
        else:
            step = {"do": "update", "updates": {"id": "id + 1000"}, "where": f"id % 5 = {remainder}"}
            if not rows.num_rows:
                return
            self.witness.change_table(self.path, step)
        self._moved(change)

    def _merge(self, rows: pa.Table, is_ours: bool) -> None:
        added = self._like(rows, self._rows(6))
        if set(added.column_names) != set(rows.column_names) or len(set(rows["id"].to_pylist())) < rows.num_rows:
            return
        first = max(0, self.next_id - 9)
        ids = np.arange(first, first + 6)
        source = added.set_column(added.column_names.index("id"), "id", pa.array(ids, rows.schema.field("id").type))
        new = {row["id"]: row for row in source.select(rows.column_names).to_pylist()}
        others = bool(self.random.integers(2))
        kept = [row for row in rows.to_pylist() if row["id"] not in new and not (others and row["id"] % 3 == 0)]
        if is_ours:
            merge = self.table.merge(source, on="id").when_matched_update_all().when_not_matched_insert_all()
            if others:
                merge = merge.when_not_matched_by_source_delete("id % 3 = 0")
            merge.execute()
        else:
            clauses = [["when_matched_update_all", None], ["when_not_matched_insert_all", None]]
            if others:
                clauses.append(["when_not_matched_by_source_delete", "id % 3 = 0"])
            self.witness.change_table(
                self.path, {"do": "merge_clauses", "on": ["id"], "rows": source, "clauses": clauses}
            )
        self._moved([*kept, *new.values()])

    def _compact(self, rows: pa.Table, is_ours: bool) -> None:
        target = int(self.random.choice([15, 40, 1000]))
        if is_ours:
            with nullcontext() if target == 15 else copied_early():
                self.table.compact(target_rows_per_fragment=target)
        elif rows.num_rows:
            self.witness.change_table(self.path, {"do": "compact", "target_rows_per_fragment": target})
        self._moved(rows.to_pylist())

    def _add_column(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        name = f"extra{self.version}"
        if is_ours:
            self.table.add_columns({name: "id * 2"})
        elif rows.num_rows:
            self.witness.change_table(self.path, {"do": "add_columns", "transforms": {name: "id * 2"}})
        else:
            return None
        return rows.append_column(name, pc.multiply(rows["id"], 2).cast(pa.int64()))

    def _drop_column(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        name = self._other(rows)
        if name is None:
            return None
        if is_ours:
            self.table.drop_columns([name])
        else:
            self.witness.change_table(self.path, {"do": "drop_columns", "columns": [name]})
        return rows.drop_columns([name])

    def _rename(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        name = self._other(rows)
        if name is None:
            return None
        if self._is_old and pa.types.is_struct(rows.schema.field(name).type):
            # Rows that come later would have a null there.
            return None
        new = f"{name[0]}{self.version}"
        if is_ours:
            self.table.alter_columns({"path": name, "name": new})
        else:
            self.witness.change_table(self.path, {"do": "alter", "path": name, "name": new})
        return rows.rename_columns([new if one == name else one for one in rows.column_names])

    def _cast(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        """The reference refuses where there are indices, which we drop."""
        if "v" not in rows.column_names or not rows.num_rows:
            return None
        wanted = pa.float64() if rows.schema.field("v").type == pa.float32() else pa.float32()
        if is_ours:
            self.table.alter_columns({"path": "v", "data_type": wanted})
        else:
            if any("v" in columns for columns in LanceTable.open(self.path).indices.values()):
                return None
            self.witness.change_table(self.path, {"do": "cast", "path": "v", "type": str(wanted)})
        return rows.set_column(rows.column_names.index("v"), "v", rows["v"].cast(wanted))

    def _index(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        column = str(self.random.choice([name for name in ("id", "v", "s") if name in rows.column_names]))
        if self._is_old and (is_ours or self._has_stable_row_ids):
            return None
        if is_ours:
            self.table.create_zone_map(column, rows_per_zone=int(self.random.integers(1, 30)))
        elif rows.num_rows:
            kind = str(self.random.choice(["BTREE", "BITMAP", "ZONEMAP"][: 2 if self._is_old else 3]))
            self.witness.change_table(self.path, {"do": "create_scalar_index", "column": column, "index_type": kind})
        else:
            return None
        return rows

    def _reindex(self, rows: pa.Table, is_ours: bool) -> None:
        """Only the reference brings indices up to date."""
        if rows.num_rows and LanceTable.open(self.path).indices:
            self.witness.change_table(self.path, {"do": "optimize_indices"})
            self._moved(rows.to_pylist())

    def _configure(self, rows: pa.Table, is_ours: bool) -> pa.Table:
        key, value = f"k{self.random.integers(3)}", str(self.version)
        if is_ours:
            self.table.update_config({key: value})
        else:
            self.witness.change_table(self.path, {"do": "update_config", "values": {key: value}})
        self.config[key] = value
        return rows

    def _branch(self, rows: pa.Table, is_ours: bool) -> None:
        name = f"b{self.version}"
        if name in self.branches:
            return
        if is_ours:
            self.table.branches.create(name)
        else:
            self.witness.change_table(self.path, {"do": "branch", "name": name, "version": self.version})
        self.branches[name] = rows

    def _clean(self, rows: pa.Table, is_ours: bool) -> None:
        report = LanceTable.open(self.path).cleanup(
            older_than=datetime.timedelta(), retain_versions=int(self.random.integers(2, 8)), dry_run=False
        )
        for version in report.versions:
            del self.expected[version]

    def _other(self, rows: pa.Table) -> str | None:
        names = [name for name in rows.column_names if name != "id"]
        return str(self.random.choice(names)) if names else None

    def _moved(self, rows: list[dict[str, Any]]) -> None:
        """Rows of the versions made since, in the order that the reference reads them."""
        newest = LanceTable.open(self.path).version
        for version in range(self.version + 1, newest + 1):
            found = self.witness.read_version(self.path, version).combine_chunks()
            if version == newest:
                theirs, ours = sorted(map(repr, found.to_pylist())), sorted(map(repr, rows))
                assert theirs == ours, (theirs, ours)
            self.expected[version] = found
        self.version = newest

    def _rows(self, num_rows: int) -> pa.Table:
        ids = np.arange(self.next_id, self.next_id + num_rows)
        self.next_id += num_rows
        numbers = ids.tolist()
        nested = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
        structs = [{"x": i, "tags": ["a"] * (i % 3)} if i % 5 or self._is_old else None for i in numbers]
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "s": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in numbers], pa.string()),
                "n": pa.array(structs, nested),
                "v": pa.array(ids * 0.5, pa.float32()),
            }
        )

    def _like(self, rows: pa.Table, made: pa.Table) -> pa.Table:
        """Keep the columns that the table has, as it has them."""
        names = [name for name in made.column_names if name in rows.column_names]
        return pa.table({name: made[name].cast(rows.schema.field(name).type) for name in names})

    def _filled(self, added: pa.Table, schema: pa.Schema) -> pa.Table:
        """Add columns of nulls."""
        columns = [
            added[field.name] if field.name in added.column_names else pa.nulls(added.num_rows, field.type)
            for field in schema
        ]
        return pa.table(columns, schema=schema)
