"""Text for reports of plugins and of where codecs are read."""

from __future__ import annotations

from collections.abc import Iterator

from lance_arrow.cli.plugin_view import MatrixCell, MatrixReport, PluginReport, PluginsReport
from lance_arrow.cli.printing import Console, print_line, print_summary
from lance_arrow.cli.render import write_report
from lance_arrow.spi import COMPRESSIVE, EncodingKey


@write_report.register
def _(report: PluginsReport, console: Console) -> None:
    if report.conflict is not None:
        print_line(console, f"conflict: {report.conflict}")
        print_line(console)
    is_short = console.summary_width is not None
    rows = [row for plugin in report.plugins for row in _plugin_rows(plugin, is_short=is_short)]
    columns = ["plugin", "distribution", "version", "kind", "provides", "contexts", "in use"]
    print_summary(console, columns, rows, optional=(5, 2, 3, 1))
    for plugin in report.plugins:
        if plugin.error is not None:
            print_line(
                console,
                f"broken: {plugin.name} of {plugin.distribution} {plugin.version} ({plugin.target}): {plugin.error}",
            )


def _plugin_rows(plugin: PluginReport, *, is_short: bool) -> Iterator[list[str]]:
    who = [plugin.name, plugin.distribution, plugin.version]
    for entry in plugin.encodings:
        contexts = ", ".join(entry.contexts)
        key = _short_key(entry.key) if is_short else entry.key
        yield [*who, entry.kind, key, contexts, "yes" if entry.is_in_use else "no"]
    if not plugin.encodings:
        yield [*who, "", "broken" if plugin.error else ", ".join(plugin.hooks), "", "no" if plugin.error else "yes"]


@write_report.register
def _(report: MatrixReport, console: Console) -> None:
    if report.conflict is not None:
        print_line(console, f"conflict: {report.conflict}")
        print_line(console)
    contexts = list(report.codecs[0].contexts) if report.codecs else []
    rows = [
        [_codec_name(row.key), *(_matrix_cell(row.contexts[name]) for name in contexts), row.plugin, row.distribution]
        for row in report.codecs
    ]
    columns = ["codec", *contexts, "plugin", "distribution"]
    print_summary(console, columns, rows, optional=(len(columns) - 1, len(columns) - 2))


def _short_key(key: str) -> str:
    """The message without its package, and the case."""
    parsed = EncodingKey.parse(key)
    message = parsed.message.rpartition(".")[2]
    return message if parsed.case is None else f"{message}/{parsed.case}"


def _codec_name(key: str) -> str:
    """The format's own codecs by their case alone."""
    parsed = EncodingKey.parse(key)
    return parsed.case or key if parsed.message == COMPRESSIVE else key


def _matrix_cell(cell: MatrixCell) -> str:
    if not cell.is_read:
        return "refused"
    return "read" if cell.since is None else f"read, {cell.since}"
