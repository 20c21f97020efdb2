"""Reports about the installed plugins: what each provides, where its codecs are read, and what is broken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lance_arrow.errors import PluginConflictError
from lance_arrow.settings import Settings
from lance_arrow.spi import DecodeContext, EncodingKey
from lance_arrow.spi.loading import LoadedPlugins, PluginRecord, load_plugins
from lance_arrow.spi.table import EncodingTable

_CODECS = "lance_provide_codecs"
# The kind of what a hook provides, and the table it goes to.
_KINDS = {
    _CODECS: "codec",
    "lance_provide_layouts": "layout",
    "lance_provide_arrays": "array encoding",
    "lance_provide_buffer_schemes": "buffer scheme",
    "lance_provide_column_encodings": "column encoding",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingEntry:
    """One encoding that a plugin provides.

    Parameters
    ----------
    key
        Printed `EncodingKey`; what ``LANCE_ARROW_PREFER`` takes.
    kind
        Codec, layout, array encoding, buffer scheme or column encoding.
    contexts
        Where a codec may occur; empty for the other kinds.
    is_in_use
        Whether this plugin reads the key; False where another is preferred, or where a conflict is undecided.
    """

    key: str
    kind: str
    contexts: list[str]
    is_in_use: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginReport:
    """One entry point; `error` says why it could not be imported."""

    name: str
    distribution: str
    version: str
    target: str
    kinds: list[str]
    encodings: list[EncodingEntry]
    hooks: list[str]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginsReport:
    """All entry points of the group; `conflict` says why reading refuses to start, None when it does not."""

    plugins: list[PluginReport]
    conflict: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixCell:
    """A codec in a context.

    Parameters
    ----------
    is_read
        False where descriptions with the codec in this context are refused.
    since
        First file version in which a writer is known to put it there; None where none is known.
    """

    is_read: bool
    since: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One codec of one plugin; `contexts` has a cell for each context, by its name."""

    key: str
    plugin: str
    distribution: str
    is_in_use: bool
    contexts: dict[str, MatrixCell]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixReport:
    """All codecs of all plugins, by key; `conflict` as in `PluginsReport`."""

    codecs: list[MatrixRow]
    conflict: str | None


def view_matrix(settings: Settings | None = None, loaded: LoadedPlugins | None = None) -> MatrixReport:
    """Report in which contexts each installed codec is read, as the factories themselves declare.

    Parameters and errors are those of `view_plugins`.
    """
    loaded = load_plugins() if loaded is None else loaded
    conflict, in_use = _in_use(Settings.from_environment() if settings is None else settings, loaded)
    rows = [
        MatrixRow(
            key=str(factory.key),
            plugin=record.name,
            distribution=record.distribution,
            is_in_use=in_use.get((_CODECS, factory.key)) == record.name,
            contexts={context.value: _cell(factory, context) for context in DecodeContext},
        )
        for record, factory in loaded.provided(_CODECS)
    ]
    return MatrixReport(codecs=sorted(rows, key=lambda row: (row.key, row.plugin)), conflict=conflict)


def _cell(factory: Any, context: DecodeContext) -> MatrixCell:
    return MatrixCell(is_read=context in factory.contexts, since=getattr(factory, "since", {}).get(context))


def view_plugins(settings: Settings | None = None, loaded: LoadedPlugins | None = None) -> PluginsReport:
    """Report on the installed plugins, also when they conflict.

    Parameters
    ----------
    settings
        Preferences; those of the environment when None.
    loaded
        Plugins; every entry point of the group when None.

    Raises
    ------
    PluginLoadError
        There are none, or one implements a hook that does not exist.
    PluginContractError
        A plugin provides something without a key.
    """
    loaded = load_plugins() if loaded is None else loaded
    conflict, in_use = _in_use(Settings.from_environment() if settings is None else settings, loaded)
    return PluginsReport(plugins=[_plugin(record, loaded, in_use) for record in loaded.records], conflict=conflict)


def _in_use(settings: Settings, loaded: LoadedPlugins) -> tuple[str | None, dict[tuple[str, EncodingKey], str]]:
    """Tell what conflicts, and by hook and key the name of the plugin that reads it."""
    try:
        tables = zip(_KINDS, EncodingTable(loaded, settings.prefer).tables(), strict=True)
        in_use = {(hook, key): found.plugin.name for hook, provided in tables for key, found in provided.items()}
    except PluginConflictError as error:
        return error.message, _undisputed(loaded)
    return None, in_use


def _plugin(record: PluginRecord, loaded: LoadedPlugins, in_use: dict[tuple[str, EncodingKey], str]) -> PluginReport:
    entries = [
        EncodingEntry(
            key=str(factory.key),
            kind=kind,
            contexts=sorted(context.value for context in getattr(factory, "contexts", ())),
            is_in_use=in_use.get((hook, factory.key)) == record.name,
        )
        for hook, kind in _KINDS.items()
        for provider, factory in loaded.provided(hook)
        if provider.name == record.name
    ]
    return PluginReport(
        name=record.name,
        distribution=record.distribution,
        version=record.version,
        target=record.target,
        kinds=sorted({entry.kind for entry in entries}),
        encodings=entries,
        hooks=loaded.hooks_of(record),
        error=None if record.error is None else f"{type(record.error).__name__}: {record.error}",
    )


def _undisputed(loaded: LoadedPlugins) -> dict[tuple[str, EncodingKey], str]:
    """Keys that exactly one plugin provides."""
    providers: dict[tuple[str, EncodingKey], list[str]] = {}
    for hook in _KINDS:
        for record, factory in loaded.provided(hook):
            providers.setdefault((hook, factory.key), []).append(record.name)
    return {key: names[0] for key, names in providers.items() if len(names) == 1}
