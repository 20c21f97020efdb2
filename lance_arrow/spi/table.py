"""`EncodingTable`: maps from key to factory; building it reports conflicts.

    lookup ─► plugins that declare the key or were imported at once ─► call their hooks ─► the one provider, kept

The hooks of a plugin with declared keys are called when one of its keys is looked up. Keys that several plugins declare
are looked up when the table is built, so that every conflict is reported then.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message

from lance_arrow.errors import LanceError, PluginConflictError, PluginContractError, UnknownEncodingError
from lance_arrow.spi.hookspecs import PROVIDE_HOOKS
from lance_arrow.spi.keys import EncodingKey
from lance_arrow.spi.loading import LoadedPlugins, PluginRecord

if TYPE_CHECKING:
    from lance_arrow.spi.factories import (
        ArrayFactory,
        BufferScheme,
        CodecFactory,
        ColumnEncodingFactory,
        LayoutFactory,
    )

_LONGEST_NAME = 100
# Hooks whose factories name the class that parses a whole description.
_WITH_MESSAGES = ("lance_provide_layouts", "lance_provide_column_encodings")


@dataclass(frozen=True, slots=True)
class Provided:
    """A factory and its plugin."""

    factory: Any
    plugin: PluginRecord


class EncodingTable:
    """All encodings of the plugins, by key.

    Parameters
    ----------
    plugins
        Loaded plugins.
    prefer
        ``{str(key): plugin name}``: decides between several providers.

    Raises
    ------
    PluginConflictError
        Two plugins provide one key and `prefer` does not decide, or it names a plugin that does not provide the key.
    """

    def __init__(self, plugins: LoadedPlugins, prefer: Mapping[str, str]) -> None:
        self.plugins = plugins
        self._prefer = dict(prefer)
        self._answers: dict[str, Mapping[str, tuple[Provided, ...]]] = {}
        self._message_types: dict[str, type[Message]] = {}
        self._keys: dict[str, tuple[EncodingKey, ...]] = {}
        self.codecs, self.layouts, self.arrays, self.schemes, self.column_encodings = (
            _Provisions(self, hook) for hook in PROVIDE_HOOKS
        )
        # Number of possible providers of a key, before the plugins that declare it are imported.
        candidates = {key: len(names) for key, names in plugins.declaring.items()}
        self._at_once = tuple(name for name in plugins.names if not plugins.is_declared(name))
        for name in self._at_once:
            for one in chain.from_iterable(self.answer(name).values()):
                candidates[one.factory.key] = candidates.get(one.factory.key, 0) + 1
        for key, number in candidates.items():
            if number > 1:
                self._is_provided(key)
        known = {str(key): key for key in candidates}
        for text, plugin in self._prefer.items():
            if text not in known or not self._is_provided(known[text]):
                raise PluginConflictError(f"the preference {text}={plugin} names an encoding that no plugin provides")

    def tables(self) -> Iterable[Mapping[EncodingKey, Provided]]:
        """The five maps, in the order of the hooks. Listing keys imports all plugins of a hook; a lookup does not."""
        return self.codecs, self.layouts, self.arrays, self.schemes, self.column_encodings

    def message_type(self, message: str, distribution: str = "") -> type[Message]:
        """Class that parses a page or column description named `message` on the wire.

        `distribution` is the name of the distribution in the file, for the error if no plugin knows the message.
        """
        # All plugins that declare the message know the class.
        keys = reversed([key for key in self.plugins.declaring if key.message == message])
        declaring = (name for key in keys for name in self.plugins.declaring[key])
        while (found := self._message_types.get(message)) is None:
            name = next(declaring, None)
            if name is None:
                raise self.missing(EncodingKey(message), distribution)
            self.answer(name)
        return found

    def codec(self, key: EncodingKey, distribution: str = "") -> CodecFactory:
        """Find a codec; `distribution` is the name in the description of a private codec, for the error."""
        found = self.codecs.get(key)
        if found is None:
            raise self.missing(key, distribution)
        return found.factory

    def layout(self, key: EncodingKey) -> LayoutFactory:
        found = self.layouts.get(key) or self.layouts.get(EncodingKey(key.message))
        if found is None:
            raise self.missing(key)
        return found.factory

    def array(self, key: EncodingKey) -> ArrayFactory:
        return self._find(self.arrays, key).factory

    def scheme(self, key: EncodingKey) -> BufferScheme:
        return self._find(self.schemes, key).factory

    def column_encoding(self, key: EncodingKey) -> ColumnEncodingFactory:
        return self._find(self.column_encodings, key).factory

    def missing(self, key: EncodingKey, distribution: str = "") -> UnknownEncodingError:
        """Return the error for a key that no plugin provides; its cause is a broken plugin that seems to provide it.

        All plugins are imported first, so that a plugin with wrongly declared keys is found and named.
        """
        for name in self.plugins.names:
            self.answer(name)
        advice = "`lance-arrow plugins` lists the installed plugins"
        if distribution:
            # The name comes from the file: it is quoted, and cut to the length of a name.
            advice = f"the file says to install {distribution[:_LONGEST_NAME]!r}"
        error = UnknownEncodingError(f"no installed plugin provides the encoding {key}; {advice}", detail=key)
        self._blame(error, key)
        return error

    def _blame(self, error: LanceError, key: EncodingKey) -> None:
        """Name the broken plugins that seem to provide a key."""
        for record in self.plugins.claimants(key):
            error.add_note(
                f"plugin {record.name!r} of {record.distribution} {record.version} is broken: {record.error!r}"
            )
            error.__cause__ = record.error

    def _find(self, table: Mapping[EncodingKey, Provided], key: EncodingKey) -> Provided:
        found = table.get(key)
        if found is None:
            raise self.missing(key)
        return found

    def answer(self, name: str) -> Mapping[str, tuple[Provided, ...]]:
        """Return what one plugin provides, by hook; its hooks are called once, at the first call.

        Raises
        ------
        PluginContractError
            A provided object has no key.
        PluginConflictError
            The plugin parses a message with another class than plugins that were imported before.
        """
        known = self._answers.get(name)
        if known is not None:
            return known
        asked = self.plugins.ask(name)
        if asked is None:
            return {}
        record, answers = asked
        for factory in chain.from_iterable(answers.values()):
            if not isinstance(getattr(factory, "key", None), EncodingKey):
                raise PluginContractError(f"plugin {record.name!r} of {record.distribution}: {factory!r} has no key")
        for hook in _WITH_MESSAGES:
            for factory in answers.get(hook, ()):
                self._agree(factory, record)
        found = {hook: tuple(Provided(factory, record) for factory in items) for hook, items in answers.items()}
        # Concurrent threads all use the result that was kept first.
        return self._answers.setdefault(name, found)

    def _agree(self, factory: Any, record: PluginRecord) -> None:
        message = factory.key.message
        if self._message_types.setdefault(message, factory.message_type) is not factory.message_type:
            raise PluginConflictError(
                f"plugin {record.name!r} parses {message} with another class than the other plugins"
            )

    def _is_provided(self, key: EncodingKey) -> bool:
        """Return whether any table has a key; raises if a conflict of its providers is undecided."""
        return any([key in table for table in self.tables()])

    def provider(self, hook: str, key: EncodingKey) -> Provided | None:
        """Find the one provider of a key, among plugins that declare it and those without declared keys."""
        names = (*self._at_once, *self.plugins.declaring.get(key, ()))
        found = [one for name in names for one in self.answer(name).get(hook, ()) if one.factory.key == key]
        return self._decide(key, found) if found else None

    def messages(self) -> frozenset[str]:
        """Return the messages with keys of plugins; those with declared keys are not imported for it."""
        keys = (one.factory.key for name in self._at_once for one in chain.from_iterable(self.answer(name).values()))
        return frozenset(key.message for key in chain(self.plugins.declaring, keys))

    def keys(self, hook: str) -> Iterable[EncodingKey]:
        """Return all keys of a hook in the order of the plugins, each once; plugins that may have any are imported."""
        known = self._keys.get(hook)
        if known is None:
            names = self.plugins.providing(hook)
            known = tuple(dict.fromkeys(one.factory.key for name in names for one in self.answer(name).get(hook, ())))
            # While a plugin is imported, it has no answer yet.
            if all([name in self._answers for name in names]):
                self._keys[hook] = known
        return known

    def _decide(self, key: EncodingKey, found: list[Provided]) -> Provided:
        wanted = self._prefer.get(str(key))
        if wanted is not None:
            chosen = [provided for provided in found if provided.plugin.name == wanted]
            if len(chosen) == 1:
                return chosen[0]
        elif len(found) == 1:
            return found[0]
        names = ", ".join(f"{p.plugin.name!r} of {p.plugin.distribution} {p.plugin.version}" for p in found)
        error = PluginConflictError(
            f"{key} is provided by {names}; decide with Settings(prefer={{'{key}': '<plugin name>'}}) "
            f"or LANCE_ARROW_PREFER='{key}=<plugin name>'" + (f" (now {wanted!r})" if wanted is not None else ""),
            detail=key,
        )
        # What is preferred may be installed, and broken.
        self._blame(error, key)
        raise error


class _Provisions(Mapping[EncodingKey, Provided]):
    """Encodings of one hook: a lookup imports plugins that may provide the key, a listing those with any."""

    def __init__(self, table: EncodingTable, hook: str) -> None:
        self._table = table
        self._hook = hook
        self._found: dict[EncodingKey, Provided] = {}

    def __getitem__(self, key: EncodingKey) -> Provided:
        found = self._found.get(key)
        if found is None:
            found = self._table.provider(self._hook, key)
            if found is None:
                raise KeyError(key)
            found = self._found.setdefault(key, found)
        return found

    def __iter__(self) -> Iterator[EncodingKey]:
        return iter(self._table.keys(self._hook))

    def __len__(self) -> int:
        return sum(1 for _ in self)


_ANSWERED: dict[tuple[type, type], bool] = {}


def has_methods(factory: Any, protocol: type) -> bool:
    """Return whether a factory has the methods of a protocol; cached per class, because the check is slow."""
    asked = type(factory), protocol
    found = _ANSWERED.get(asked)
    if found is None:
        found = _ANSWERED[asked] = isinstance(factory, protocol)
    return found


def version_number(version: str) -> tuple[int, ...]:
    """Return a file version as numbers, which compare as versions do."""
    return tuple(map(int, version.split(".")))
