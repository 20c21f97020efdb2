"""What scenarios share: storage, a cluster, a driver that is started when needed, and checks of tables."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from processes import Cluster, Driver
from storage import BUCKET, Storage

from lance_arrow import LanceTable


class Wrong(Exception):
    """A scenario came out otherwise than it must."""


def check(holds: object, what: object) -> None:
    """Fail a scenario unless something holds."""
    if not holds:
        raise Wrong(str(what))


def equal(found: object, expected: object, what: str) -> None:
    """Fail a scenario unless something is as expected."""
    check(found == expected, f"{what}: expected {expected}, found {found}")


@dataclass
class World:
    """What scenarios share.

    Parameters
    ----------
    storage, cluster
        The server of tables, and Spark.
    outage_seconds
        For how long storage answers 503 in the scenario of that.
    """

    storage: Storage
    cluster: Cluster
    outage_seconds: float = 20
    _driver: Driver | None = field(default=None, init=False)

    @property
    def options(self) -> dict[str, str]:
        """Options of the format for the storage."""
        return {"storageOptions": json.dumps(self.storage.options)}

    def uri(self, *parts: str) -> str:
        """Name a table."""
        return "/".join([f"s3://{BUCKET}", *parts])

    @property
    def driver(self) -> Driver:
        """An application that takes all cores; started anew where it was stopped or killed."""
        if self._driver is None or self._driver.process.poll() is not None:
            self._driver = self.cluster.driver("scenarios", {}, {})
            self.ready()
        return self._driver

    def ready(self) -> None:
        """Wait until each worker has an executor of the driver."""
        assert self._driver is not None
        equal(self._driver.call("ready"), 2, "executors")

    @contextmanager
    def application(
        self,
        name: str,
        settings: Mapping[str, str],
        *,
        executors: int = 2,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[Driver]:
        """Run another application, which must have a number of executors; it is stopped after the block."""
        driver = self.cluster.driver(name, settings, env)
        try:
            equal(driver.call("ready", executors=executors), executors, "executors")
            yield driver
        finally:
            driver.stop()

    def stop_driver(self) -> None:
        """Free all cores."""
        if self._driver is not None:
            self._driver.stop()
            self._driver = None

    def write(self, uri: str, start: int, stop: int, **arguments: Any) -> None:
        """Write rows through the driver."""
        self.driver.call("write", uri=uri, start=start, stop=stop, **{**self.options, **arguments})

    def job(self, name: str, uri: str, **arguments: Any) -> dict[str, Any]:
        """Run a job through the driver."""
        report = self.driver.call("job", job=name, uri=uri, storage_options=self.storage.options, **arguments)
        check(report["ok"], report)
        return dict(report)

    def holds(self, uri: str, expected: range, *, version: int | None = None) -> LanceTable:
        """Fail unless a table has each id of a range exactly once; returns its newest version."""
        table = self.storage.table(uri)
        found = sorted(table.to_table(columns=["id"])["id"].to_pylist())
        if found != list(expected):
            missing, many = set(expected) - set(found), len(found) - len(set(found))
            raise Wrong(f"{len(found)} rows, not {len(expected)}: {len(missing)} missing, {many} more than once")
        if version is not None:
            equal(table.version, version, "version")
        return table

    def orphans(self, uri: str, *, least: int = 0) -> int:
        """Fail unless `cleanup` finds exactly the data files that no version names, and removes nothing else."""
        table = self.storage.table(uri)
        named: set[str] = set()
        for version in range(1, table.version + 1):
            manifest = table.checkout(version).manifest
            named |= {file.path for fragment in manifest.fragments for file in fragment.files}
        before = table.to_table().num_rows
        expected = self._data(uri) - named
        told = table.cleanup(delete_unverified=True)
        found = {one.path[5:] for one in told.files if one.path.startswith("data/") and one.path.endswith(".lance")}
        equal(found, expected, "data files that cleanup finds")
        check(len(found) >= least, f"expected {least} orphans at least, found {len(found)}")
        age = datetime.timedelta(days=1)
        table.cleanup(delete_unverified=True, older_than=age, dry_run=False)
        equal(self._data(uri), named, "data files after a cleanup")
        equal(self.storage.table(uri).to_table().num_rows, before, "rows after a cleanup")
        return len(found)

    def _data(self, uri: str) -> set[str]:
        fs = self.storage.filesystem
        fs.invalidate_cache()
        return {one.rpartition("/")[2] for one in fs.ls(f"{uri}/data") if one.endswith(".lance")}
