"""The reference package in a process of its own: JSON jobs on stdin, one JSON answer per line on stdout.

Damaged files may abort this process; `witness.Witness` starts another one then.
"""

from __future__ import annotations

import inspect
import json
import os
import re
import sys
from typing import Any

import lance
import lance.file
import numpy as np
import pyarrow as pa

BATCH_ROWS = 131_072
# The oldest releases read files whole, and write pages as large as they like.
HAS_PROJECTION = "columns" in inspect.signature(lance.file.LanceFileReader.__init__).parameters
HAS_PAGE_BYTES = "max_page_bytes" in str(lance.file._LanceFileWriter.__text_signature__)
TOKEN = re.compile(r'\s*(b"(?:\\.|[^"\\])*"|[A-Za-z_]\w*|-?\d+|[{}()\[\],:])')


def parse_debug(text: str) -> Any:
    """Turn the Rust debug text of a page layout into nested dicts, lists and numbers."""
    tokens = TOKEN.findall(text)
    position = 0

    def value() -> Any:
        nonlocal position
        token = tokens[position]
        position += 1
        if token == "[":
            return items("]")
        if token.startswith('b"'):
            return f"bytes:{len(token) - 3}"
        if not token[0].isalpha():
            return int(token)
        after = tokens[position] if position < len(tokens) else ""
        if after == "(":
            position += 1
            (inner,) = items(")")
            return (
                inner if token == "Some" or set(inner if isinstance(inner, dict) else ()) == {token} else {token: inner}
            )
        if after == "{":
            position += 1
            return {token: dict(items("}"))}
        return None if token == "None" else token

    def items(end: str) -> list[Any]:
        nonlocal position
        found: list[Any] = []
        while tokens[position] != end:
            if tokens[position + 1] == ":":
                name = tokens[position]
                position += 2
                found.append((name, value()))
            else:
                found.append(value())
            if tokens[position] == ",":
                position += 1
        position += 1
        return found

    return value()


def compact(node: Any) -> str:
    """Print a codec or layout on one line: name, then what it holds; plain numbers are left out."""
    if not isinstance(node, dict):
        return str(node)
    if len(node) != 1:
        # Planar pages name their planes.
        return ", ".join(f"{name}={compact(held)}" for name, held in node.items())
    ((name, fields),) = node.items()
    if name == "CompressiveEncoding":
        return compact(fields["compression"])
    if name == "PageLayout":
        return compact(fields["layout"])
    if name == "BufferCompression":
        return str(fields["scheme"]).removeprefix("CompressionAlgorithm").lower()
    if not isinstance(fields, dict):
        return f"{name}({fields})"
    parts = []
    for key, held in fields.items():
        if isinstance(held, dict):
            parts.append(f"{key}={compact(held)}")
        elif key == "layers":
            parts.append("layers=" + "+".join(str(layer).removeprefix("Repdef") for layer in held))
        elif key in ("inline_value", "has_large_chunk", "has_validity", "symbol_table") and held not in (None, "false"):
            parts.append(key)
        elif key in ("bits_per_value", "uncompressed_bits_per_value", "items_per_value") and held:
            parts.append(str(held))
        elif key == "details" and held is not None:
            parts.append(compact(held))
    return f"{name}({', '.join(parts)})"


# The reference panics over decimals in places that are no multiple of 16; old releases of pyarrow know no such option.
ALIGNED = (
    {"options": pa.ipc.IpcReadOptions(ensure_alignment=pa.ipc.Alignment.At64Byte)}
    if hasattr(pa.ipc, "Alignment")
    else {}
)


def load(path: str) -> pa.Table:
    with pa.OSFile(path) as source:
        return pa.ipc.open_stream(source, **ALIGNED).read_all()


def store(table: pa.Table, path: str) -> None:
    with pa.OSFile(path, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)


def write(path: str, version: str, batches: str, slices: list[list[int]] | None, **options: Any) -> dict[str, Any]:
    table = load(batches)
    if not HAS_PAGE_BYTES:
        options.pop("max_page_bytes", None)
    with lance.file.LanceFileWriter(path, table.schema, version=version, **options) as writer:
        if slices is None:
            for batch in table.to_batches():
                writer.write_batch(batch)
        else:
            (whole,) = table.combine_chunks().to_batches()
            for start, stop in slices:
                writer.write_batch(whole.slice(start, stop - start))
    return {"num_bytes": os.path.getsize(path)}


def write_directory(path: str, version: str, batches: str, mode: str, **options: Any) -> dict[str, Any]:
    table = load(batches)
    written = lance.write_dataset(table, path, mode=mode, data_storage_version=version, **options)
    return {"version": written.version}


def read_directory(path: str, out: str, columns: list[str] | None, blob_handling: str) -> dict[str, Any]:
    store(lance.dataset(path).to_table(columns=columns, blob_handling=blob_handling), out)
    return {}


def read_version(path: str, out: str, version: int | str | None, branch: str | None, **flags: Any) -> dict[str, Any]:
    dataset = lance.dataset(path, version=None if branch is not None else version)
    if branch is not None:
        dataset = dataset.checkout_version((branch, version))
    store(dataset.to_table(**flags), out)
    return {}


def change_table(path: str, steps: list[dict[str, Any]], branch: str | None) -> dict[str, Any]:
    """Apply steps one after the other to the newest version, or to that of a branch."""
    for step in steps:
        dataset = lance.dataset(path) if branch is None else lance.dataset(path).checkout_version((branch, None))
        change(dataset, path if branch is None else dataset, path, step)
    return {"versions": [version["version"] for version in lance.dataset(path).versions()]}


def change(
    dataset: lance.LanceDataset, appended: str | lance.LanceDataset, replaced: str | lance.LanceDataset, step: dict
) -> None:
    """Apply a step, which names a method and its arguments, ``rows`` being an Arrow stream."""
    job, arguments = step["do"], {key: value for key, value in step.items() if key not in ("do", "rows")}
    rows = load(step["rows"]) if "rows" in step else None
    if job == "append":
        lance.write_dataset(rows, appended, mode="append", **arguments)
    elif job == "overwrite":
        lance.write_dataset(rows, replaced, mode="overwrite", **arguments)
    elif job == "merge":
        builder = dataset.merge_insert(**arguments)
        builder.when_matched_update_all().when_not_matched_insert_all().execute(rows)
    elif job == "merge_clauses":
        builder = dataset.merge_insert(arguments["on"])
        for clause, condition in arguments["clauses"]:
            builder = getattr(builder, clause)(*([] if condition is None else [condition]))
        builder.execute(rows)
    elif job == "join":
        dataset.merge(rows, **arguments)
    elif job == "alter":
        dataset.alter_columns(arguments)
    elif job == "cast":
        dataset.alter_columns({"path": arguments["path"], "data_type": pa.type_for_alias(arguments["type"])})
    elif job == "null_columns":
        dataset.add_columns(pa.schema([(name, pa.type_for_alias(kind)) for name, kind in arguments.items()]))
    elif job == "compact":
        dataset.optimize.compact_files(**arguments)
    elif job == "optimize_indices":
        dataset.optimize.optimize_indices(**arguments)
    elif job == "change_tag":
        getattr(dataset.tags, arguments.pop("change"))(*arguments.values())
    elif job == "validate":
        dataset.validate()
    elif job == "tag":
        dataset.tags.create(arguments["name"], arguments["version"])
    elif job == "tag_of_branch":
        dataset.tags.create(arguments["name"], (arguments["branch"], arguments["version"]))
    elif job == "branch":
        dataset.create_branch(arguments["name"], arguments.get("version"))
    elif job == "clone":
        dataset.shallow_clone(arguments["target"], arguments["version"])
    elif job == "restore":
        dataset.checkout_version(arguments["version"]).restore()
    else:
        getattr(dataset, job)(**arguments)


HELD: dict[str, lance.LanceDataset] = {}


def hold(path: str, name: str) -> dict[str, Any]:
    """Open the newest version, and keep it under a name."""
    HELD[name] = lance.dataset(path)
    return {"version": HELD[name].version, "columns": HELD[name].schema.names}


def change_held(name: str, step: dict[str, Any]) -> dict[str, Any]:
    """Apply a step to what is held, which others may have changed since."""
    change(HELD[name], HELD[name], HELD[name], step)
    return {}


def index_names(path: str, version: int) -> dict[str, Any]:
    return {"names": sorted(found["name"] for found in lance.dataset(path, version=version).list_indices())}


def make_indices(path: str, indices: list[list[Any]]) -> dict[str, Any]:
    """Make an index of each column: its kind, and options; vector indices have kinds that begin with ``IVF``."""
    dataset = lance.dataset(path)
    for column, kind, options in indices:
        if kind.startswith("IVF"):
            dataset.create_index(column, kind, **options)
        else:
            dataset.create_scalar_index(column, kind, **options)
    return {}


def index_coverage(path: str, branch: str | None) -> dict[str, Any]:
    dataset = lance.dataset(path) if branch is None else lance.dataset(path).checkout_version((branch, None))
    return {
        found.name: sorted(number for segment in found.segments for number in segment.fragment_ids)
        for found in dataset.describe_indices()
    }


def index_answers(
    path: str, key: str, questions: list[dict[str, Any]], use_index: bool, branch: str | None
) -> list[dict[str, Any]]:
    """Return the keys of the rows that each question finds, by an index or without, and the plan of the search."""
    dataset = lance.dataset(path) if branch is None else lance.dataset(path).checkout_version((branch, None))
    answers = []
    for question in questions:
        options: dict[str, Any] = {"columns": [key], "use_scalar_index": use_index}
        if "filter" in question:
            options |= {"filter": question["filter"], "prefilter": True}
        if "nearest" in question:
            exhaustive = {"nprobes": 64, "refine_factor": 64, "ef": 1024} if use_index else {}
            options["nearest"] = {**question["nearest"], "use_index": use_index, **exhaustive}
            options["nearest"]["q"] = np.array(question["nearest"]["q"], np.float32)
        if "text" in question:
            options["full_text_query"] = {"columns": [question["column"]], "query": question["text"]}
            options["limit"] = 1 << 20
        scanner = dataset.scanner(**options)
        keys = scanner.to_table()[key].to_pylist()
        answers.append({"keys": keys if "nearest" in question else sorted(keys), "plan": scanner.explain_plan()})
    return answers


def explain(path: str, filter: str) -> dict[str, Any]:
    return {"plan": lance.dataset(path).scanner(filter=filter).explain_plan(verbose=True)}


def describe_table(path: str) -> dict[str, Any]:
    dataset = lance.dataset(path)
    metadata = {key.decode(): value.decode() for key, value in (dataset.schema.metadata or {}).items()}
    return {"config": dataset.config(), "metadata": dataset.metadata, "schema_metadata": metadata}


def tags(path: str) -> dict[str, Any]:
    return {name: tag["version"] for name, tag in lance.dataset(path).tags.list().items()}


def take_blobs(path: str, out: str, column: str, indices: list[int]) -> dict[str, Any]:
    blobs = lance.dataset(path).take_blobs(column, indices=indices)
    values = [None if blob is None else blob.readall() for blob in blobs]
    store(pa.table({column: pa.array(values, pa.large_binary())}), out)
    return {}


def reading(path: str, columns: list[str] | None) -> lance.file.LanceFileReader:
    return lance.file.LanceFileReader(path, **({"columns": columns} if HAS_PROJECTION else {}))


def store_columns(table: pa.Table, columns: list[str] | None, out: str) -> None:
    store(table if columns is None or HAS_PROJECTION else table.select(columns), out)


def read(path: str, out: str, columns: list[str] | None) -> dict[str, Any]:
    store_columns(reading(path, columns).read_all(batch_size=BATCH_ROWS).to_table(), columns, out)
    return {}


def take(path: str, out: str, indices: list[int], columns: list[str] | None) -> dict[str, Any]:
    store_columns(reading(path, columns).take_rows(indices, batch_size=BATCH_ROWS).to_table(), columns, out)
    return {}


def schema(path: str, out: str) -> dict[str, Any]:
    store(lance.file.LanceFileReader(path).metadata().schema.empty_table(), out)
    return {}


def describe(path: str) -> dict[str, Any]:
    metadata = lance.file.LanceFileReader(path).metadata()
    pages = [
        [
            {"encoding": compact(parse_debug(page.encoding)), "buffers": [[b.position, b.size] for b in page.buffers]}
            for page in column.pages
        ]
        for column in metadata.columns
    ]
    return {
        "version": [metadata.major_version, metadata.minor_version],
        "num_rows": metadata.num_rows,
        "columns": pages,
    }


def catalog(
    root: str, what: str, name: list[str], is_listing: bool, batches: str | None = None
) -> list[str] | str | bool | None:
    """Do one job of the directory catalog; without `is_listing` it also keeps a manifest table."""
    # Not in the oldest releases.
    import lance_namespace as spaces  # noqa: PLC0415

    found = spaces.connect("dir", {"root": root, "manifest_enabled": str(not is_listing).lower()})
    if what == "list_tables":
        return sorted(found.list_tables(spaces.ListTablesRequest(id=name)).tables)
    if what == "create_table":
        assert batches is not None
        rows = load(batches)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_table(rows)
        found.create_table(spaces.CreateTableRequest(id=name), sink.getvalue().to_pybytes())
        return None
    if what == "describe_table":
        return str(found.describe_table(spaces.DescribeTableRequest(id=name)).location)
    request = "".join(part.capitalize() for part in what.split("_")) + "Request"
    getattr(found, what)(getattr(spaces, request)(id=name))
    return None


def main() -> None:
    jobs = {
        job.__name__: job
        for job in (
            write,
            write_directory,
            read_directory,
            read_version,
            change_table,
            hold,
            change_held,
            take_blobs,
            index_names,
            make_indices,
            index_coverage,
            index_answers,
            tags,
            catalog,
            describe_table,
            explain,
            read,
            take,
            schema,
            describe,
        )
    }
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"ok": jobs[request.pop("job")](**request)}
        # Whatever the reference raises is the answer: panics arrive as BaseException.
        except BaseException as error:  # noqa: BLE001
            answer = {"error": type(error).__name__, "message": str(error)}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main()
