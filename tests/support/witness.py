"""The reference package as a witness: writes and reads files in a subprocess that may die without harm."""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

WORKER = Path(__file__).with_name("witness_worker.py")


class WitnessRefused(Exception):
    """The reference package raised; the text is its own."""


class WitnessDied(Exception):
    """The reference package aborted its process or did not answer in time."""


class Witness:
    """Jobs for one worker process, which is started when first needed and again after it died.

    Parameters
    ----------
    folder
        Where tables are exchanged as Arrow streams.
    timeout_seconds
        How long one job may take.
    python
        Interpreter of the environment that holds the reference package; that of this process by default.
    """

    def __init__(self, folder: Path, timeout_seconds: float = 120, python: str = sys.executable) -> None:
        self._python = python
        self._folder = folder
        self._timeout_seconds = timeout_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._names = itertools.count()

    @staticmethod
    def version() -> str | None:
        """Version of the installed reference package, None when it is absent."""
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version("pylance")
        return None

    def write(
        self,
        table: pa.Table,
        path: Path | str,
        version: str,
        *,
        slices: Sequence[tuple[int, int]] | None = None,
        **options: Any,
    ) -> Path:
        """Write `table` as a Lance file, one call per chunk, or per row range of `slices` (which then keep offsets)."""
        exchange = self._store(table)
        try:
            self._ask("write", path=str(path), version=version, batches=exchange, slices=slices, **options)
        finally:
            os.unlink(exchange)
        return Path(path)

    def write_directory(
        self, table: pa.Table, path: Path | str, version: str, mode: str = "create", **options: Any
    ) -> Path:
        """Write `table` as a version of a table directory; `version` is the data files' version."""
        exchange = self._store(table)
        try:
            self._ask("write_directory", path=str(path), version=version, batches=exchange, mode=mode, **options)
        finally:
            os.unlink(exchange)
        return Path(path)

    def read_directory(
        self, path: Path | str, columns: Sequence[str] | None = None, blob_handling: str = "all_binary"
    ) -> pa.Table:
        """Read all rows of a table directory."""
        return self._table("read_directory", path=str(path), columns=columns, blob_handling=blob_handling)

    def read_version(
        self, path: Path | str, version: int | str | None = None, branch: str | None = None, **flags: Any
    ) -> pa.Table:
        """Read all rows of a version (number or tag) of a table directory; flags are those of its scanner."""
        return self._table("read_version", path=str(path), version=version, branch=branch, **flags)

    def change_table(self, path: Path | str, *steps: dict[str, Any], branch: str | None = None) -> list[int]:
        """Apply steps to a table directory, one version each or more, and return the versions there are.

        A step names what to ``do`` and its arguments; ``rows`` is a table.
        """
        with self._sent(steps) as sent:
            return self._ask("change_table", path=str(path), steps=sent, branch=branch)["versions"]

    @contextlib.contextmanager
    def _sent(self, steps: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
        sent = [{**step, "rows": self._store(step["rows"])} if "rows" in step else step for step in steps]
        try:
            yield sent
        finally:
            for step in sent:
                if "rows" in step:
                    os.unlink(step["rows"])

    def hold(self, path: Path | str, name: str) -> tuple[int, list[str]]:
        """Let the worker open a table directory, and keep it under a name; return its version and columns."""
        found = self._ask("hold", path=str(path), name=name)
        return found["version"], found["columns"]

    def change_held(self, name: str, step: dict[str, Any]) -> None:
        """Apply one step to what is held, as `change_table`; others may have changed the table since."""
        with self._sent([step]) as (sent,):
            self._ask("change_held", name=name, step=sent)

    def index_names(self, path: Path | str, version: int) -> list[str]:
        """Names of the indices of a version of a table directory."""
        return self._ask("index_names", path=str(path), version=version)["names"]

    def make_indices(self, path: Path | str, indices: Sequence[tuple[str, str, dict[str, Any]]]) -> None:
        """Make an index of each column, of a kind, with options."""
        self._ask("make_indices", path=str(path), indices=[list(one) for one in indices])

    def index_coverage(self, path: Path | str, branch: str | None = None) -> dict[str, list[int]]:
        """The indices of the newest version by name: ids of the fragments that each covers."""
        return self._ask("index_coverage", path=str(path), branch=branch)

    def index_answers(
        self,
        path: Path | str,
        key: str,
        questions: Sequence[dict[str, Any]],
        *,
        use_index: bool,
        branch: str | None = None,
    ) -> list[dict[str, Any]]:
        """For each question the ``keys`` of the rows that are found, by indices or without, and the ``plan``.

        A question has a ``filter``, ``text`` that a ``column`` holds, ``nearest`` vectors, or a filter with either.
        """
        return self._ask(
            "index_answers", path=str(path), key=key, questions=list(questions), use_index=use_index, branch=branch
        )

    def explain(self, path: Path | str, filter: str) -> str:
        """The plan of a filtered read of a table directory."""
        return self._ask("explain", path=str(path), filter=filter)["plan"]

    def describe_table(self, path: Path | str) -> dict[str, dict[str, str]]:
        """Configuration and metadata of a table directory."""
        return self._ask("describe_table", path=str(path))

    def tags(self, path: Path | str) -> dict[str, int]:
        """Tags of a table directory, and their versions."""
        return self._ask("tags", path=str(path))

    def catalog(
        self, root: Path, job: str, name: Sequence[str] = (), *, is_listing: bool, rows: pa.Table | None = None
    ) -> Any:
        """Do one job of the directory catalog of a folder; the names of tables, a location, or None."""
        arguments = {"root": str(root), "what": job, "name": list(name), "is_listing": is_listing}
        if rows is None:
            return self._ask("catalog", **arguments)
        exchange = self._store(rows)
        try:
            return self._ask("catalog", **arguments, batches=exchange)
        finally:
            os.unlink(exchange)

    def take_blobs(self, path: Path | str, column: str, indices: Sequence[int]) -> list[bytes | None]:
        """Open blobs of a table directory as files, and read them."""
        return self._table("take_blobs", path=str(path), column=column, indices=list(indices)).column(0).to_pylist()

    def read(self, path: Path | str, columns: Sequence[str] | None = None) -> pa.Table:
        """Read all rows."""
        return self._table("read", path=str(path), columns=columns)

    def take(self, path: Path | str, indices: Sequence[int], columns: Sequence[str] | None = None) -> pa.Table:
        """Read rows at `indices`, which must strictly ascend."""
        return self._table("take", path=str(path), indices=[int(i) for i in indices], columns=columns)

    def schema(self, path: Path | str) -> pa.Schema:
        """Schema as the reference's reader gives it."""
        return self._table("schema", path=str(path)).schema

    def describe(self, path: Path | str) -> dict[str, Any]:
        """Version, rows, and for each physical column its pages: one-line encoding and (position, size) buffers."""
        return self._ask("describe", path=str(path))

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def _store(self, table: pa.Table) -> str:
        path = str(self._folder / f"exchange-{next(self._names)}.arrows")
        with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        return path

    def _table(self, job: str, **arguments: Any) -> pa.Table:
        out = str(self._folder / f"exchange-{next(self._names)}.arrows")
        try:
            self._ask(job, out=out, **arguments)
            with pa.OSFile(out) as source:
                table = pa.ipc.open_stream(source).read_all()
            try:
                # Old releases return arrays that would take this process down with them.
                table.validate(full=True)
            except pa.ArrowInvalid as error:
                raise WitnessRefused(f"the reference returned arrays that contradict themselves: {error}") from error
            return table
        finally:
            if os.path.exists(out):
                os.unlink(out)

    def _ask(self, job: str, **arguments: Any) -> Any:
        if self._process is None:
            self._process = subprocess.Popen(
                [self._python, str(WORKER)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                bufsize=0,
            )
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps({"job": job, **arguments}).encode() + b"\n")
        except BrokenPipeError:
            self._fail(job, "ended before the job")
        answer = json.loads(self._line(job))
        if "error" in answer:
            raise WitnessRefused(f"{answer['error']}: {answer['message']}")
        return answer["ok"]

    def _line(self, job: str) -> bytes:
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._timeout_seconds
        line = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while not line.endswith(b"\n"):
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self._fail(job, f"gave no answer within {self._timeout_seconds} s")
                piece = os.read(self._process.stdout.fileno(), 1 << 20)
                if not piece:
                    self._fail(job, "aborted")
                line += piece
        return line

    def _fail(self, job: str, what: str) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.communicate()
        code = self._process.returncode
        self._process = None
        raise WitnessDied(f"the reference package {what} (job {job!r}, exit code {code})")
