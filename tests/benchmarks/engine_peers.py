"""Others that answer the same queries in DuckDB: the reference's dataset, and the extensions `lance` and `vortex`.

The extensions take part where packages `duckdb-extensions`, `duckdb-extension-lance` and `duckdb-extension-vortex` are
installed, for a release of DuckDB that they are made for.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb


def peers(connection: duckdb.DuckDBPyConnection, folder: Path, names: list[str]) -> Iterator[str]:
    """Register the reference's dataset and DuckDB's extensions where they are installed; yield names of the ways."""
    with contextlib.suppress(ImportError):
        reference: Any = importlib.import_module("lance")
        for name in names:
            connection.register(f"reference_{name}", reference.dataset(str(folder / f"{name}.lance")))
        yield "reference"
    with contextlib.suppress(ImportError):
        load: Callable[..., object] = importlib.import_module("duckdb_extensions").import_extension
        for extension in ("lance", "vortex"):
            try:
                load(extension, con=connection)
                connection.execute(f"LOAD {extension}")
            except (ImportError, duckdb.Error) as error:
                print(f"extension {extension} is left out: {str(error).splitlines()[0]}")
                continue
            for name in names:
                place = folder / f"{name}.{extension}"
                if extension == "vortex":
                    connection.execute(f"COPY (FROM parquet_{name}) TO '{place}' (FORMAT vortex)")
                source = f"read_vortex('{place}')" if extension == "vortex" else f"'{place}'"
                connection.execute(f"CREATE VIEW extension_{extension}_{name} AS FROM {source}")
            yield f"extension_{extension}"


def answering(connection: duckdb.DuckDBPyConnection, texts: Mapping[str, str]) -> dict[str, Callable[[], Any]]:
    """Return the ways that answer a query: peers may lack a part of what filters say."""
    found: dict[str, Callable[[], Any]] = {}
    for way, text in texts.items():
        try:
            connection.execute(text).fetchall()
        except duckdb.Error as error:
            if way in ("door", "parquet"):
                raise
            print(f"{way} does not answer: {str(error).splitlines()[0][-120:]}")
        else:
            found[way] = lambda text=text: connection.execute(text).fetchall()
    return found
