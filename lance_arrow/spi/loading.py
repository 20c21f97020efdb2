"""Finding plugins: entry points imported one by one, broken ones recorded and never in the way of the others."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pluggy

from lance_arrow.errors import PluginLoadError
from lance_arrow.spi import hookspecs

GROUP = "lance_arrow"


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """One entry point: who provides it, and the module or the reason it could not be imported."""

    name: str
    distribution: str
    version: str
    target: str
    module: ModuleType | None = None
    error: BaseException | None = None


class LoadedPlugins:
    """All entry points of the group, and the manager that holds the importable ones.

    Parameters
    ----------
    records
        One per entry point, in sorted order.
    manager
        Holds the modules that could be imported.
    """

    def __init__(self, records: Iterable[PluginRecord], manager: pluggy.PluginManager) -> None:
        self.manager = manager
        self._records = {record.name: record for record in records}

    @property
    def records(self) -> tuple[PluginRecord, ...]:
        """Every plugin; those that failed, at import or when asked what they provide, with their error."""
        return tuple(self._records.values())

    def provided(self, hook: str) -> Iterable[tuple[PluginRecord, Any]]:
        """Call each plugin's implementation of a `provide` hook and yield (record, provided object).

        A plugin that raises is recorded as broken, and provides nothing by this hook.
        """
        for implementation in getattr(self.manager.hook, hook).get_hookimpls():
            record = self._records[implementation.plugin_name]
            try:
                items = tuple(implementation.function())
            # A plugin is foreign code: whatever it raises is kept and chained to whoever needs the plugin.
            except Exception as error:  # noqa: BLE001
                self._records[record.name] = replace(record, error=error)
                continue
            for item in items:
                yield record, item

    def claimants(self, case: str | None) -> Iterable[PluginRecord]:
        """Broken plugins whose entry-point name ends in `case`: the likely providers of a missing encoding."""
        for record in self.records:
            if record.error is not None and case is not None and record.name.rpartition(".")[2] == case.lower():
                yield record


def entry_points() -> tuple[importlib.metadata.EntryPoint, ...]:
    """Entry points of the group in sorted order; the order decides nothing but the listing."""
    found = importlib.metadata.entry_points(group=GROUP)
    return tuple(sorted(set(found), key=lambda point: (point.name, point.value)))


def load_plugins(points: Iterable[importlib.metadata.EntryPoint] | None = None) -> LoadedPlugins:
    """Import every entry point by itself and register the good ones.

    Raises
    ------
    PluginLoadError
        The group is empty (the distribution is not installed: entry points live in installed metadata), or a
        plugin implements a hook that does not exist.
    """
    points = entry_points() if points is None else tuple(points)
    if not points:
        raise PluginLoadError(
            f"no entry points in group {GROUP!r}: the distribution 'lance-arrow' is not installed "
            "(a source tree on sys.path is not enough), expected its built-in encodings there"
        )
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    records: dict[str, PluginRecord] = {}
    for point in points:
        record = _load(point, manager, records)
        records[record.name] = record
    try:
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginLoadError(f"a plugin implements an unknown hook: {error}") from error
    return LoadedPlugins(records.values(), manager)


def _load(point: importlib.metadata.EntryPoint, manager: pluggy.PluginManager, earlier: Container[str]) -> PluginRecord:
    distribution = point.dist.name if point.dist is not None else "unknown"
    version = point.dist.version if point.dist is not None else "unknown"
    name = point.name
    if name in earlier:
        name = f"{distribution}:{point.name}"
    if name in earlier:
        name = f"{name}={point.value}"
    try:
        module = point.load()
        manager.register(module, name=name)
    # A plugin is foreign code: whatever its import raises is kept and chained to whoever needs the plugin.
    except Exception as error:  # noqa: BLE001
        return PluginRecord(name=name, distribution=distribution, version=version, target=point.value, error=error)
    return PluginRecord(name=name, distribution=distribution, version=version, target=point.value, module=module)
