"""A plugin with declared keys is imported when one of them is looked up; a wrong declaration is an error."""

from __future__ import annotations

import importlib.metadata
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from outside import run, write_entry_points

from lance_arrow.cli.plugin_view import view_plugins
from lance_arrow.errors import PluginConflictError, PluginContractError, UnknownEncodingError
from lance_arrow.runtime import Runtime
from lance_arrow.settings import Settings
from lance_arrow.spi import PRIVATE_CODEC, EncodingKey
from lance_arrow.spi.loading import LoadedPlugins, entry_points, load_plugins
from lance_arrow.spi.table import EncodingTable

ONE, TWO = EncodingKey(PRIVATE_CODEC, "acme.one/1"), EncodingKey(PRIVATE_CODEC, "acme.two/1")
PLUGIN = """
from lance_arrow.spi import DecodeContext, EncodingKey, hookimpl

calls = []


class Codec:
    contexts = frozenset(DecodeContext)

    def __init__(self, key):
        self.key = EncodingKey.parse(key)


@hookimpl
def lance_provide_codecs():
    calls.append(1)
    return [Codec(key) for key in {keys!r}]
"""
LISTENER = "\n\n@hookimpl\ndef lance_read_finished(report):\n    pass\n"


class Distribution:
    """A distribution in a folder that is searched for modules: plugins, and what their keys are said to be."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.points: dict[str, str] = {}
        self.keys: dict[str, str] = {}

    def plugin(self, name: str, *provides: EncodingKey, declares: tuple[EncodingKey, ...], more: str = "") -> str:
        """Write a plugin; return the name of its module."""
        module = f"{self.folder.name}_{self.name}_{name}".replace("-", "_").replace(".", "_")
        (self.folder / f"{module}.py").write_text(PLUGIN.replace("{keys!r}", repr(list(map(str, provides)))) + more)
        self.points[name] = module
        self.keys |= {str(key): module for key in declares}
        return module

    def install(self) -> Path:
        """Write its metadata beside its modules, where every process finds them that searches the folder."""
        return self._write(self.folder)

    def found(self) -> list[EntryPoint]:
        """Write its metadata apart from its modules; return its plugins as those that are installed are found."""
        info = self._write(self.folder / "metadata")
        return list(importlib.metadata.Distribution.at(info).entry_points.select(group="lance_arrow"))

    def _write(self, folder: Path) -> Path:
        info = folder / f"{self.name}-1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {self.name}\nVersion: 1\n")
        write_entry_points(info, {"lance_arrow": self.points, "lance_arrow.keys": self.keys})
        return info


@pytest.fixture
def acme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Distribution]:
    monkeypatch.syspath_prepend(tmp_path)
    yield Distribution(tmp_path, "acme")
    for name in [name for name in sys.modules if name.startswith(tmp_path.name.replace("-", "_"))]:
        del sys.modules[name]


def table_of(*points: EntryPoint, prefer: dict[str, str] | None = None) -> EncodingTable:
    return EncodingTable(load_plugins([*entry_points(), *points]), prefer or {})


def broken(plugins: LoadedPlugins) -> dict[str, BaseException]:
    return {record.name: record.error for record in plugins.records if record.error is not None}


def test_imported_and_asked_once_when_looked_up(acme: Distribution) -> None:
    module = acme.plugin("one", ONE, declares=(ONE,))
    other = acme.plugin("two", TWO, declares=(TWO,))
    table = table_of(*acme.found())
    assert module not in sys.modules
    assert table.codec(ONE) is table.codec(ONE) is table.codecs[ONE].factory
    assert sys.modules[module].calls == [1]
    assert other not in sys.modules
    assert {ONE, TWO} <= set(table.codecs)
    assert sys.modules[other].calls == [1]
    assert broken(table.plugins) == {}


def test_without_declared_keys_it_is_imported_at_once(acme: Distribution) -> None:
    module = acme.plugin("one", ONE, declares=())
    table = table_of(*acme.found())
    assert sys.modules[module].calls == [1]
    assert table.codec(ONE).key == ONE


def test_listing_imports_every_plugin(acme: Distribution) -> None:
    module = acme.plugin("one", ONE, declares=(ONE,))
    report = view_plugins(Settings(), load_plugins([*entry_points(), *acme.found()]))
    assert module in sys.modules
    (plugin,) = [plugin for plugin in report.plugins if plugin.name == "one"]
    assert ([entry.key for entry in plugin.encodings], plugin.hooks) == ([str(ONE)], ["lance_provide_codecs"])
    assert (plugin.distribution, plugin.version, plugin.error) == ("acme", "1", None)


@pytest.mark.parametrize("provides", [(TWO,), (ONE, TWO), ()], ids=["another", "one more", "nothing"])
def test_a_declaration_of_other_keys_is_an_error_at_each_of_them(acme: Distribution, provides: tuple) -> None:
    acme.plugin("one", *provides, declares=(ONE,))
    table = table_of(*acme.found())
    for key in {ONE, *provides}:
        with pytest.raises(UnknownEncodingError) as caught:
            table.codec(key)
        cause = caught.value.__cause__
        assert isinstance(cause, PluginContractError)
        assert all(str(one) in str(cause) for one in {ONE, *provides})
        assert "lance_arrow.keys" in str(cause)
        assert "acme" in caught.value.__notes__[0]
    assert list(broken(table.plugins)) == ["one"]


def test_a_declaration_leaves_no_room_for_other_hooks(acme: Distribution) -> None:
    acme.plugin("one", ONE, declares=(ONE,), more=LISTENER)
    runtime = Runtime(plugins=load_plugins([*entry_points(), *acme.found()]))
    assert not runtime.is_watched
    with pytest.raises(UnknownEncodingError) as caught:
        runtime.table.codec(ONE)
    assert "lance_read_finished" in str(caught.value.__cause__)
    assert not runtime.is_watched


def test_without_declared_keys_all_hooks_work(acme: Distribution) -> None:
    acme.plugin("one", ONE, declares=(), more=LISTENER)
    assert Runtime(plugins=load_plugins([*entry_points(), *acme.found()])).is_watched


def test_a_declaration_for_no_plugin_is_listed(acme: Distribution) -> None:
    acme.plugin("one", ONE, declares=(ONE,))
    acme.keys[str(TWO)] = "no_such_plugin"
    table = table_of(*acme.found())
    assert table.codec(ONE).key == ONE
    with pytest.raises(UnknownEncodingError, match=r"acme\.two/1") as caught:
        table.codec(TWO)
    assert "no_such_plugin" in str(caught.value.__cause__)
    assert list(broken(table.plugins)) == [str(TWO)]


@pytest.mark.parametrize("declares", [(ONE,), ()], ids=["both declare", "one declares"])
def test_two_for_one_key_are_found_when_the_table_is_built(acme: Distribution, declares: tuple) -> None:
    acme.plugin("one", ONE, declares=(ONE,))
    other = Distribution(acme.folder, "other")
    other.plugin("two", ONE, declares=declares)
    points = [*acme.found(), *other.found()]
    with pytest.raises(PluginConflictError, match=r"(?s)'one' of acme.*'two' of other|'two' of other.*'one' of acme"):
        table_of(*points)
    for name in ("one", "two"):
        table = table_of(*points, prefer={str(ONE): name})
        assert table.codecs[ONE].plugin.name == name
    assert view_plugins(Settings(), load_plugins(points)).conflict is not None


def test_a_broken_one_of_two_is_no_conflict(acme: Distribution) -> None:
    acme.plugin("one", ONE, declares=(ONE,))
    module = acme.plugin("two", ONE, declares=())
    points = acme.found()
    (acme.folder / f"{module}.py").write_text("import no_such_module_anywhere\n")
    assert table_of(*points).codecs[ONE].plugin.name == "one"


def test_a_preference_for_a_broken_plugin_is_refused(acme: Distribution) -> None:
    acme.plugin("one", ONE, declares=(ONE,), more="import no_such_module_anywhere\n")
    with pytest.raises(PluginConflictError, match="no plugin provides"):
        table_of(*acme.found(), prefer={str(ONE): "one"})


def test_an_import_that_fails_is_tried_once_and_is_the_cause(acme: Distribution) -> None:
    acme.plugin(
        "one", ONE, declares=(ONE,), more="import sys\nsys.tried_one = 1 + getattr(sys, 'tried_one', 0)\n1 / 0\n"
    )
    table = table_of(*acme.found())
    try:
        for _ in range(2):
            with pytest.raises(UnknownEncodingError) as caught:
                table.codec(ONE)
            assert isinstance(caught.value.__cause__, ZeroDivisionError)
        assert sys.tried_one == 1
    finally:
        del sys.tried_one
    flat = EncodingKey("lance.encodings21.CompressiveEncoding", "flat")
    assert table.codec(flat).key == flat


def test_a_plugin_that_needs_its_own_key_while_it_is_imported(acme: Distribution) -> None:
    more = "import sys\nsys.acme_table.codec(EncodingKey.parse('lance_arrow.PrivateCodec/acme.one/1'))\n"
    acme.plugin("one", ONE, declares=(ONE,), more=more)
    sys.acme_table = table_of(*acme.found())
    try:
        with pytest.raises(UnknownEncodingError) as caught:
            sys.acme_table.codec(ONE)
        assert isinstance(caught.value.__cause__, UnknownEncodingError)
    finally:
        del sys.acme_table


def test_threads_that_look_up_at_once_get_the_same(acme: Distribution) -> None:
    module = acme.plugin("one", ONE, declares=(ONE,), more="import time\ntime.sleep(0.05)\n")
    table = table_of(*acme.found())
    barrier = threading.Barrier(8)
    found: list[object] = []

    def look_up() -> None:
        barrier.wait()
        found.append(table.codec(ONE))

    threads = [threading.Thread(target=look_up) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(map(id, found))) == 1
    assert sum(record.target == module for record in table.plugins.records) == 1


FORK = """
import os, sys, threading
from lance_arrow.runtime import default_runtime
from lance_arrow.spi import EncodingKey
table = default_runtime().table
sys.begun, sys.go_on = threading.Event(), threading.Event()
slow = threading.Thread(target=table.codec, args=(EncodingKey.parse("lance_arrow.PrivateCodec/acme.one/1"),))
slow.start()
sys.begun.wait()
child = os.fork()
if child == 0:
    table.codec(EncodingKey.parse("lance.encodings21.CompressiveEncoding/rle"))
    table.codec(EncodingKey.parse("lance_arrow.PrivateCodec/acme.two/1"))
    os._exit(7)
_, status = os.waitpid(child, 0)
sys.go_on.set()
slow.join()
table.codec(EncodingKey.parse("lance_arrow.PrivateCodec/acme.one/1"))
print(os.waitstatus_to_exitcode(status))
"""


def test_a_fork_while_a_plugin_is_imported(acme: Distribution) -> None:
    acme.plugin("one", ONE, declares=(ONE,), more="import sys\nsys.begun.set()\nsys.go_on.wait()\n")
    acme.plugin("two", TWO, declares=(TWO,))
    acme.install()
    done = run(FORK, target=acme.folder, timeout_seconds=60)
    assert done.stdout == "7\n", done.stderr


def test_built_in_encodings_declare_what_they_provide() -> None:
    own = [point for point in entry_points() if point.dist is not None and point.dist.name == "lance-arrow"]
    plugins = load_plugins(own)
    table = EncodingTable(plugins, {})
    assert all(plugins.is_declared(name) for name in plugins.names)
    provided = {key for held in table.tables() for key in held}
    assert provided == set(plugins.declaring)
    assert broken(plugins) == {}
