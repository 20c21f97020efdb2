"""Random histories of one table, written by turns by us and by the reference, compared after every step.

What a step must give is computed here with pyarrow alone wherever both can do it; what only the reference does
(updates, new columns, compaction) it tells itself, and we must read the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from same import assert_same
from witness import Witness

from lance_arrow import LanceTable

ADDRESSES = ["_rowid", "_rowaddr"]
STEPS = ("append", "append", "some_columns", "delete", "delete", "nothing", "restore", "overwrite", "tag", "empty")
FOREIGN_STEPS = ("update", "add_column", "drop_column", "compact", "merge")


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
    """

    def __init__(self, witness: Witness, path: Path, seed: int) -> None:
        self.witness = witness
        self.path = path
        self.random = np.random.default_rng(seed)
        self.expected: dict[int, pa.Table] = {}
        self.tags: dict[str, int] = {}
        self.next_id = 0
        self.log: list[str] = []
        stable = bool(self.random.integers(2))
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
        assert_same(theirs, opened.to_table(columns=theirs.column_names))
        assert opened.count_rows() == expected.num_rows
        if version is None:
            assert {name: tag.version for name, tag in opened.tags.items()} == self.tags

    def _step(self) -> None:
        rows = self.expected[self.version]
        is_ours = bool(self.random.integers(2))
        steps = STEPS if is_ours or self.random.integers(2) else FOREIGN_STEPS
        step = str(self.random.choice(steps))
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
        kept = [name for name in added.column_names if name == "id" or self.random.integers(2)]
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

    def _update(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        return self._theirs({"do": "update", "updates": {"id": "id + 1000"}, "where": "id % 5 = 2"})

    def _add_column(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        name = f"extra{self.version}"
        return self._theirs({"do": "add_columns", "transforms": {name: "id * 2"}})

    def _drop_column(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        extra = [name for name in rows.column_names if name != "id"]
        return self._theirs({"do": "drop_columns", "columns": [str(self.random.choice(extra))]}) if extra else None

    def _compact(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        return self._theirs({"do": "compact", "target_rows_per_fragment": 1000})

    def _merge(self, rows: pa.Table, is_ours: bool) -> pa.Table | None:
        added = self._like(rows, self._rows(6))
        ids = pa.array(np.arange(self.next_id - 9, self.next_id - 3))
        if set(added.column_names) != set(rows.column_names) or len(set(rows["id"].to_pylist())) < rows.num_rows:
            return None
        return self._theirs({"do": "merge", "on": "id", "rows": added.set_column(0, "id", ids)})

    def _theirs(self, step: dict[str, Any]) -> pa.Table | None:
        """Let the reference do what only it can; its own reading is what must be."""
        if "columns" not in step and not self.expected[self.version].num_rows:
            return None
        versions = self.witness.change_table(self.path, step)
        newest = max(versions)
        for version in range(self.version + 1, newest + 1):
            self.expected[version] = self.witness.read_version(self.path, version).combine_chunks()
        self.version = newest
        return None

    def _rows(self, num_rows: int) -> pa.Table:
        ids = np.arange(self.next_id, self.next_id + num_rows)
        self.next_id += num_rows
        numbers = ids.tolist()
        nested = pa.struct([("x", pa.int32()), ("tags", pa.list_(pa.string()))])
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "s": pa.array([None if i % 7 == 0 else f"text {i % 13}" for i in numbers], pa.string()),
                "n": pa.array([{"x": i, "tags": ["a"] * (i % 3)} if i % 5 else None for i in numbers], nested),
                "v": pa.array(ids * 0.5, pa.float32()),
            }
        )

    def _like(self, rows: pa.Table, made: pa.Table) -> pa.Table:
        """Keep the columns that the table has."""
        return made.select([name for name in made.column_names if name in rows.column_names])

    def _filled(self, added: pa.Table, schema: pa.Schema) -> pa.Table:
        """Add columns of nulls."""
        columns = [
            added[field.name] if field.name in added.column_names else pa.nulls(added.num_rows, field.type)
            for field in schema
        ]
        return pa.table(columns, schema=schema)
