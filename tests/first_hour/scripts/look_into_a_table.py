"""Give the folder of a table, and a folder of files, to the commands that know files."""

import contextlib
import io
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

import lance_arrow
from lance_arrow.cli.app import run

folder = Path(sys.argv[1])
table = folder / "table"
rows = pa.table({"id": range(1000), "name": [f"n{row}" for row in range(1000)]})
made = lance_arrow.LanceTable.create(table, rows, max_rows_per_file=250)
made.tags.create("all", 1)
made.delete("id < 300")


def ask(*arguments: object) -> tuple[int, dict]:
    """Run a command line in this process: its exit code and its document."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run(["--json", *map(str, arguments)])
    return code, json.loads(out.getvalue())


command = [sys.executable, "-m", "lance_arrow.cli", "head", str(table), "-n", "1"]
shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
assert shown == " id  name\n300  n300\n(1 of 700 rows, version 2)\n"

code, head = ask("head", table, "-n", 2)
assert (code, [row["id"] for row in head["rows"]], head["num_rows"]) == (0, [300, 301], 700)
assert ask("head", table, "--version", "all")[1]["rows"][0]["id"] == 0
assert [field["name"] for field in ask("schema", table)[1]["fields"]] == ["id", "name"]

_, stats = ask("stats", table)
assert (stats["num_rows"], stats["deleted_rows"], stats["columns"][0]["min"]) == (700, 50, 300)

code, report = ask("verify", table)
assert (code, report["ok"], report["checked"]["files"], report["checked"]["deletion_files"]) == (0, True, 3, 1)
assert lance_arrow.verify(table).ok

code, error = ask("inspect", table)
assert code == 1
assert "table show" in error["error"]["message"]

victim = next((table / "data").iterdir())
victim.write_bytes(victim.read_bytes()[:100])
code, report = ask("verify", table, "--version", 1)
assert code == 1
assert {finding["path"] for finding in report["errors"]} == {str(victim)}

(folder / "files").mkdir()
for part in (0, 1):
    lance_arrow.write_table(rows.slice(500 * part, 500), folder / "files" / f"{part}.lance")
assert ask("head", folder / "files", "-n", 600)[1]["rows"][599]["id"] == 599
assert ask("verify", folder / "files")[1]["checked"]["rows"] == 1000
