"""Report about the installed plugins: what each provides, which one is in use, and which are broken."""

from __future__ import annotations

from dataclasses import dataclass

from lance_arrow.errors import PluginConflictError
from lance_arrow.settings import Settings
from lance_arrow.spi import EncodingKey
from lance_arrow.spi.loading import LoadedPlugins, PluginRecord, load_plugins
from lance_arrow.spi.table import EncodingTable

# The kind of what a hook provides, and the table it goes to.
_KINDS = {
    "lance_provide_codecs": "codec",
    "lance_provide_layouts": "layout",
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
        Codec, layout, buffer scheme or column encoding.
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
    settings = Settings.from_environment() if settings is None else settings
    loaded = load_plugins() if loaded is None else loaded
    conflict = None
    in_use: dict[tuple[str, EncodingKey], str] = {}
    try:
        table = EncodingTable(loaded, settings.prefer)
    except PluginConflictError as error:
        conflict = error.message
        in_use = _undisputed(loaded)
    else:
        for hook, provided in zip(_KINDS, table.tables(), strict=True):
            in_use.update({(hook, key): found.plugin.name for key, found in provided.items()})
    return PluginsReport(plugins=[_plugin(record, loaded, in_use) for record in loaded.records], conflict=conflict)


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
        if provider is record
    ]
    return PluginReport(
        name=record.name,
        distribution=record.distribution,
        version=record.version,
        target=record.target,
        kinds=sorted({entry.kind for entry in entries}),
        encodings=entries,
        hooks=sorted(caller.name for caller in loaded.manager.get_hookcallers(record.module) or ()),
        error=None if record.error is None else f"{type(record.error).__name__}: {record.error}",
    )


def _undisputed(loaded: LoadedPlugins) -> dict[tuple[str, EncodingKey], str]:
    """Keys that exactly one plugin provides."""
    providers: dict[tuple[str, EncodingKey], list[str]] = {}
    for hook in _KINDS:
        for record, factory in loaded.provided(hook):
            providers.setdefault((hook, factory.key), []).append(record.name)
    return {key: names[0] for key, names in providers.items() if len(names) == 1}
