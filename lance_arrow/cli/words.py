"""Words that people try: other names of commands, and arguments that are options here.

A word that another tool uses for a command runs that command, or the error names the command in another group. An
argument too many is answered with the option that takes it.
"""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

SAME: dict[str, dict[str, str]] = {
    "": {
        **dict.fromkeys(("info", "describe", "meta", "metadata", "pages", "layout"), "inspect"),
        **dict.fromkeys(("columns", "fields", "types"), "schema"),
        **dict.fromkeys(("cat", "show", "rows", "sample", "peek", "print"), "head"),
        **dict.fromkeys(("statistics", "summary", "summarize", "bounds"), "stats"),
        **dict.fromkeys(("check", "validate", "fsck", "checksum"), "verify"),
        **dict.fromkeys(("import", "ingest", "copy"), "convert"),
        **dict.fromkeys(("codecs", "encodings"), "plugins"),
        **dict.fromkeys(("query", "duckdb"), "sql"),
    },
    "table": {
        **dict.fromkeys(("history", "versions"), "log"),
        **dict.fromkeys(("ls", "tables"), "list"),
        **dict.fromkeys(("info", "describe", "inspect", "version"), "show"),
        **dict.fromkeys(("compare", "changes"), "diff"),
        **dict.fromkeys(("optimize", "merge-files"), "compact"),
        **dict.fromkeys(("remove", "rm"), "delete"),
        **dict.fromkeys(("insert", "add"), "append"),
        **dict.fromkeys(("revert", "rollback", "reset"), "restore"),
        **dict.fromkeys(("tags",), "tag"),
        **dict.fromkeys(("vacuum", "clean", "gc", "expire", "prune"), "cleanup"),
    },
    "plugins": {**dict.fromkeys(("create", "init", "scaffold", "add"), "new")},
    "zones": {
        **dict.fromkeys(("list", "ls", "print", "inspect", "stats"), "show"),
        **dict.fromkeys(("create", "add", "write"), "build"),
    },
}
"""For each group: a word, and the command of the group that it means."""

ELSEWHERE: dict[str, dict[str, str]] = {
    "": {
        **dict.fromkeys(("log", "history", "versions"), "table log"),
        **dict.fromkeys(("diff", "compact", "cleanup", "delete", "append", "restore", "tag"), "table {word}"),
        **dict.fromkeys(("optimize",), "table compact"),
        **dict.fromkeys(("vacuum", "gc"), "table cleanup"),
        **dict.fromkeys(("version",), "--version"),
        **dict.fromkeys(("help",), "--help"),
    },
    "table": {
        **dict.fromkeys(("schema", "head", "stats", "verify", "convert", "export"), "{word}"),
        **dict.fromkeys(("zones",), "zones show"),
    },
    "plugins": {},
    "zones": {},
}
"""For each group: a word, and the command line of another group that is meant."""


class WordsGroup(TyperGroup):
    """A group of commands that understands words of other tools; the root group has the name of no other."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command of a word, or say where it is."""
        word = args[0] if args else ""
        if word not in self.commands:
            group = "" if ctx.parent is None else str(ctx.info_name)
            same = SAME[group].get(word)
            if same is not None:
                return super().resolve_command(ctx, [same, *args[1:]])
            elsewhere = ELSEWHERE[group].get(word)
            if elsewhere is not None:
                root = ctx.find_root().info_name
                ctx.fail(f"No such command '{word}'; it is {root} {elsewhere.format(word=word)}.")
        return super().resolve_command(ctx, args)


def advice(error: Any) -> str:
    """Return what to do about a usage error: the options that take the arguments too many; empty for other errors."""
    command = None if error.ctx is None else error.ctx.command
    extra = [] if command is None else _extra_arguments(error)
    if not extra:
        return ""
    options = {one.name: max(one.opts, key=len) for one in command.params if one.opts[0].startswith("-")}
    if "version" in options and extra[0].isdecimal():
        return f"; a version of a table is chosen by {options['version']} {extra[0]}"
    if "columns" in options:
        return f"; columns are chosen by {options['columns']} {','.join(extra)}"
    return ""


def _extra_arguments(error: Any) -> list[str]:
    """Return the arguments that a command does not take; Typer tells them in the text of the error only."""
    _, found, after = error.format_message().partition("unexpected extra argument")
    if not found or "(" not in after:
        return []
    inside: str = after[after.index("(") :].removeprefix("(s) ").strip("(). ")
    return inside.split()
