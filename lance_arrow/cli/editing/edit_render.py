"""Text for reports of changed tables; importing it teaches `render` about them."""

from __future__ import annotations

from lance_arrow.cli.editing.row_edits import EditReport
from lance_arrow.cli.editing.tag_edits import TagReport
from lance_arrow.cli.printing import NOTHING_WRITTEN, Console, count, print_line
from lance_arrow.cli.render import write_report

_WOULD = {"create": "would tag", "move": "would move", "remove": "would remove"}
_DID = {"create": "tagged", "move": "moved", "remove": "removed"}


@write_report.register
def _(report: EditReport, console: Console) -> None:
    if report.operation == "delete":
        verb = "would delete" if report.is_dry_run else "deleted"
        print_line(
            console,
            f"{report.path}: {verb} {report.rows_deleted:,} of {count(report.rows_before, 'row')}; "
            f"{report.rows_after:,} {'would stay' if report.is_dry_run else 'stay'}",
        )
    else:
        verb = "would restore" if report.is_dry_run else "restored"
        print_line(
            console,
            f"{report.path}: {verb} version {report.restored_version}: {count(report.rows_before, 'row')} -> "
            f"{report.rows_after:,}",
        )
        if report.rows_unknown is None:
            print_line(
                console,
                f"rows: {report.rows_added:,} added, {report.rows_deleted:,} removed, {report.rows_updated:,} updated",
            )
        else:
            print_line(console, f"rows: unknown: {report.rows_unknown}")
    numbers = (len(report.fragments_added), len(report.fragments_removed), len(report.fragments_changed))
    print_line(console, "fragments: {:,} added, {:,} removed, {:,} changed".format(*numbers))
    if report.is_dry_run:
        print_line(console, NOTHING_WRITTEN)
    else:
        print_line(console, f"version {report.old_version} -> {report.new_version} of {report.branch}")


@write_report.register
def _(report: TagReport, console: Console) -> None:
    verb = (_WOULD if report.is_dry_run else _DID)[report.action]
    if report.action == "create":
        text = f"{verb} version {report.new_version} as {report.name}"
    elif report.action == "move":
        text = f"{verb} tag {report.name} from version {report.old_version} to {report.new_version}"
    else:
        text = f"{verb} tag {report.name} of version {report.old_version}"
    print_line(console, f"{report.path}: {text} of {report.branch}")
    if report.is_dry_run:
        print_line(console, NOTHING_WRITTEN)
