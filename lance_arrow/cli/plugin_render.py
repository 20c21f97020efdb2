"""Text for reports of plugins and of where codecs are read."""

from __future__ import annotations

from collections.abc import Iterator

from lance_arrow.cli.plugin_view import MatrixCell, MatrixReport, PluginReport, PluginsReport
from lance_arrow.cli.printing import Console, print_line, print_table
from lance_arrow.cli.render import write_report
from lance_arrow.spi import COMPRESSIVE, EncodingKey


@write_report.register
def _(report: PluginsReport, console: Console) -> None:
    if report.conflict is not None:
        print_line(console, f"conflict: {report.conflict}")
        print_line(console)
    rows = [row for plugin in report.plugins for row in _plugin_rows(plugin)]
    print_table(console, ["plugin", "distribution", "version", "kind", "provides", "contexts", "in use"], rows)
    for plugin in report.plugins:
        if plugin.error is not None:
            print_line(
                console,
                f"broken: {plugin.name} of {plugin.distribution} {plugin.version} ({plugin.target}): {plugin.error}",
            )


def _plugin_rows(plugin: PluginReport) -> Iterator[list[str]]:
    who = [plugin.name, plugin.distribution, plugin.version]
    for entry in plugin.encodings:
        contexts = ", ".join(entry.contexts)
        yield [*who, entry.kind, entry.key, contexts, "yes" if entry.is_in_use else "no"]
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
    print_table(console, ["codec", *contexts, "plugin", "distribution"], rows)


def _codec_name(key: str) -> str:
    """The format's own codecs by their case alone."""
    parsed = EncodingKey.parse(key)
    return parsed.case or key if parsed.message == COMPRESSIVE else key


def _matrix_cell(cell: MatrixCell) -> str:
    if not cell.is_read:
        return "refused"
    return "read" if cell.since is None else f"read, {cell.since}"
