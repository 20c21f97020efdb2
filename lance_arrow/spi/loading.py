"""Find plugins. Each is imported separately, when it is needed; a broken one is recorded and does not affect others.

A plugin whose distribution declares its keys (`declarations.py`) is imported when one of them is first looked up. A
plugin without declared keys is imported at once.
"""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import Any

import pluggy

from lance_arrow.errors import PluginContractError, PluginLoadError
from lance_arrow.spi import hookspecs
from lance_arrow.spi.declarations import GROUP, KEYS_GROUP, Declarations, may_provide, wrong_hooks, wrong_keys
from lance_arrow.spi.keys import EncodingKey


class Provider:
    """The distribution of a plugin; its metadata are read at the first use."""

    def __init__(self, distribution: importlib.metadata.Distribution | None) -> None:
        self._distribution = distribution
        self._facts: tuple[str, str] | None = None

    @property
    def name(self) -> str:
        return self._read()[0]

    @property
    def version(self) -> str:
        return self._read()[1]

    def _read(self) -> tuple[str, str]:
        if self._facts is None:
            found = self._distribution
            self._facts = ("unknown", "unknown") if found is None else (found.name, found.version)
        return self._facts


_UNKNOWN = Provider(None)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """One entry point: its distribution, and the module or the import error.

    `keys` are the keys that its distribution declares, or that it provides although they are not declared. `hooks` are
    the functions that provide its encodings.
    """

    name: str
    target: str
    provider: Provider = _UNKNOWN
    module: ModuleType | None = None
    error: BaseException | None = None
    keys: frozenset[EncodingKey] = frozenset()
    hooks: Mapping[str, Callable[[], Iterable[Any]]] = field(default_factory=dict, repr=False)

    @property
    def distribution(self) -> str:
        return self.provider.name

    @property
    def version(self) -> str:
        return self.provider.version


@dataclass(frozen=True, slots=True)
class _Declared:
    """A plugin that is not imported until one of its keys is needed."""

    point: importlib.metadata.EntryPoint
    provider: Provider
    keys: frozenset[EncodingKey]


class LoadedPlugins:
    """All entry points of the group, and the manager with the plugins that implement hooks.

    Threads share it without a lock. Two threads that need a plugin at the same time may both import it. The import
    system makes that one import, and both keep the same record.

    Parameters
    ----------
    records
        Plugins that were imported, or that failed.
    manager
        Holds the modules of those that were imported.
    waiting
        Plugins with declared keys, by name.
    names
        All names in the order of the listing; names of `records` if None.
    """

    def __init__(
        self,
        records: Iterable[PluginRecord],
        manager: pluggy.PluginManager,
        waiting: Mapping[str, _Declared] | None = None,
        names: Iterable[str] | None = None,
    ) -> None:
        self.manager = manager
        self._records = {record.name: record for record in records}
        self._waiting = dict(waiting or {})
        self.names = tuple(self._records if names is None else names)
        self._importing = threading.local()
        declaring: dict[EncodingKey, tuple[str, ...]] = {}
        for name, declared in self._waiting.items():
            for key in declared.keys:
                declaring[key] = (*declaring.get(key, ()), name)
        self.declaring: Mapping[EncodingKey, tuple[str, ...]] = declaring
        """The names of the plugins that declare a key, in the order of the listing."""

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """Every plugin, imported for this listing; failed ones have their error, from the import or from a hook."""
        for name in self.names:
            self._load(name)
        return tuple(self._records[name] for name in self.names if name in self._records)

    def is_declared(self, name: str) -> bool:
        """Whether a plugin has declared keys, imported or not."""
        return name in self._waiting

    def providing(self, hook: str) -> Iterable[str]:
        """Return the names of the plugins that may have what a hook provides, in the order of the listing."""
        return [name for name in self.names if name not in self._waiting or may_provide(hook, self._waiting[name].keys)]

    def ask(self, name: str) -> tuple[PluginRecord, Mapping[str, tuple[Any, ...]]] | None:
        """Import a plugin if needed, and call its `provide` hooks.

        Returns
        -------
        tuple of (PluginRecord, mapping)
            The provided objects by the name of the hook. A plugin that raises is recorded as broken and provides
            nothing by this hook. If the provided keys differ from the declared ones, it provides nothing at all. None
            if this thread is importing the plugin at the moment.
        """
        record = self._load(name)
        if record is None:
            return None
        answers: dict[str, tuple[Any, ...]] = {}
        for hook, function in self._provide_hooks(record).items():
            try:
                answers[hook] = tuple(function())
            # A plugin is foreign code: any error it raises is kept, and is the cause of errors for its keys.
            except Exception as error:  # noqa: BLE001
                record = self._records[name] = replace(record, error=error)
        if not self.is_declared(name):
            return record, answers
        if record.error is None:
            keys = [getattr(item, "key", None) for items in answers.values() for item in items]
            problem = wrong_keys(record.keys, keys)
            if problem is not None:
                known = record.keys.union(key for key in keys if isinstance(key, EncodingKey))
                record = self._records[name] = replace(record, error=_contract_error(record, problem), keys=known)
        return record, answers if record.error is None else {}

    def provided(self, hook: str) -> Iterator[tuple[PluginRecord, Any]]:
        """Call one hook of each plugin and yield (record, provided object)."""
        for name in self.names:
            asked = self.ask(name)
            if asked is not None:
                for item in asked[1].get(hook, ()):
                    yield asked[0], item

    def hooks_of(self, record: PluginRecord) -> list[str]:
        """Names of the hooks that a plugin implements, sorted."""
        if self.is_declared(record.name):
            return sorted(record.hooks)
        return sorted(caller.name for caller in self.manager.get_hookcallers(record.module) or ())

    def claimants(self, key: EncodingKey) -> Iterable[PluginRecord]:
        """Broken plugins that declare `key`, or whose name ends in its case: probable providers of a missing key."""
        for record in self.records:
            ending = record.name.rpartition(".")[2]
            if record.error is not None and (
                key in record.keys or (key.case is not None and ending == key.case.lower())
            ):
                yield record

    def _load(self, name: str) -> PluginRecord | None:
        """Import a plugin once; None if this thread is importing it, and the import looks a key up."""
        record = self._records.get(name)
        if record is not None:
            return record
        importing: set[str] = self._importing.__dict__.setdefault("names", set())
        if name in importing:
            return None
        importing.add(name)
        try:
            made = _load_declared(name, self._waiting[name], self.manager)
        finally:
            importing.discard(name)
        return self._records.setdefault(name, made)

    def _provide_hooks(self, record: PluginRecord) -> Mapping[str, Callable[[], Iterable[Any]]]:
        if record.module is None or self.is_declared(record.name):
            return record.hooks
        return {
            hook: implementation.function
            for hook in hookspecs.PROVIDE_HOOKS
            for implementation in getattr(self.manager.hook, hook).get_hookimpls()
            if implementation.plugin_name == record.name
        }


def entry_points() -> tuple[importlib.metadata.EntryPoint, ...]:
    """Entry points of the group in sorted order, which matters only for the listing."""
    found = importlib.metadata.entry_points(group=GROUP)
    return tuple(sorted(set(found), key=lambda point: (point.name, point.value)))


def load_plugins(points: Iterable[importlib.metadata.EntryPoint] | None = None) -> LoadedPlugins:
    """Import every entry point without declared keys separately, and register those that succeed.

    Raises
    ------
    PluginLoadError
        The group is empty: the distribution is not installed (entry points are installed metadata). Or a plugin
        implements a hook that does not exist.
    """
    points = entry_points() if points is None else tuple(points)
    if not points:
        raise PluginLoadError(
            f"no entry points in group {GROUP!r}: the distribution 'lance-arrow' is not installed. It has the "
            "built-in encodings; a source tree on sys.path is not enough"
        )
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    records: dict[str, PluginRecord] = {}
    waiting: dict[str, _Declared] = {}
    names: list[str] = []
    declarations = Declarations()
    providers: dict[int, Provider] = {}
    for point in points:
        keys = declarations.of(point)
        provider = providers.setdefault(id(point.dist), Provider(point.dist))
        name = _name(point, provider, names)
        names.append(name)
        if keys:
            waiting[name] = _Declared(point, provider, keys)
        else:
            records[name] = _load_at_once(name, point, provider, manager)
    for stray in declarations.strays():
        name = _name(stray, Provider(stray.dist), names)
        names.append(name)
        records[name] = _record_without_plugin(name, stray)
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(f"a plugin implements an unknown hook: {error}") from error
    return LoadedPlugins(records.values(), manager, waiting, names)


def _name(point: importlib.metadata.EntryPoint, provider: Provider, earlier: Container[str]) -> str:
    name = point.name
    if name in earlier:
        name = f"{provider.name}:{point.name}"
    if name in earlier:
        name = f"{name}={point.value}"
    return name


def _load_at_once(
    name: str, point: importlib.metadata.EntryPoint, provider: Provider, manager: pluggy.PluginManager
) -> PluginRecord:
    record = PluginRecord(name=name, target=point.value, provider=provider)
    try:
        module = point.load()
        manager.register(module, name=name)
    # A plugin is foreign code: any error of its import is kept, and is the cause of errors for its keys.
    except Exception as error:  # noqa: BLE001
        return replace(record, error=error)
    return replace(record, module=module)


def _load_declared(name: str, declared: _Declared, manager: pluggy.PluginManager) -> PluginRecord:
    """Import a plugin with declared keys. It may implement only `provide` hooks: others would be called too late."""
    record = PluginRecord(name=name, target=declared.point.value, provider=declared.provider, keys=declared.keys)
    try:
        module = declared.point.load()
        hooks = _implemented(module, manager)
    # A plugin is foreign code: any error of its import is kept, and is the cause of errors for its keys.
    except Exception as error:  # noqa: BLE001
        return replace(record, error=error)
    problem = wrong_hooks(hooks)
    if problem is not None:
        return replace(record, module=module, error=_contract_error(record, problem))
    return replace(record, module=module, hooks=hooks)


def _record_without_plugin(name: str, point: importlib.metadata.EntryPoint) -> PluginRecord:
    error = PluginLoadError(
        f"the group {KEYS_GROUP!r} declares {point.name} for the module {point.value!r}; the group {GROUP!r} of the "
        "same distribution has no entry point for this module"
    )
    keys = frozenset((EncodingKey.parse(point.name),))
    return PluginRecord(name=name, target=point.value, provider=Provider(point.dist), error=error, keys=keys)


def _contract_error(record: PluginRecord, problem: str) -> PluginContractError:
    return PluginContractError(f"plugin {record.name!r} of {record.distribution} {problem}")


def _implemented(module: ModuleType, manager: pluggy.PluginManager) -> dict[str, Callable[[], Iterable[Any]]]:
    """Return the marked functions of a module by the names of their hooks."""
    found = {}
    for name in dir(module):
        options = manager.parse_hookimpl_opts(module, name)
        if options is not None:
            found[options.get("specname") or name] = getattr(module, name)
    return found
