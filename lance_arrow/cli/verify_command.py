"""`verify`: a file, a version of a table or a folder of files, with progress."""

from __future__ import annotations

from lance_arrow.cli.progress import progress
from lance_arrow.cli.table_data import choose
from lance_arrow.cli.targets import Target
from lance_arrow.files.verification import VerifyReport
from lance_arrow.table.verifying import verify


def verify_target(target: Target) -> VerifyReport:
    """Verify what a command was given; see `lance_arrow.verify` for the errors."""
    target.kind()
    choice = choose(target.version, target.branch)
    with progress(f"Verifying {target.uri}", "bytes") as on_progress:
        return verify(
            target.uri,
            version=choice.version,
            tag=choice.tag,
            branch=choice.branch,
            storage_options=target.storage_options,
            on_progress=on_progress,
        )
