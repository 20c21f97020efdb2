"""`EncodingTable`: a frozen map from key to factory; building it reports conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from google.protobuf.message import Message

from lance_arrow.errors import PluginConflictError, PluginContractError, UnknownEncodingError
from lance_arrow.spi.factories import ArrayFactory, BufferScheme, CodecFactory, ColumnEncodingFactory, LayoutFactory
from lance_arrow.spi.keys import EncodingKey
from lance_arrow.spi.loading import LoadedPlugins, PluginRecord

_LONGEST_NAME = 100


@dataclass(frozen=True, slots=True)
class Provided:
    """A factory with the plugin it came from."""

    factory: Any
    plugin: PluginRecord


class EncodingTable:
    """Everything the plugins provide, by key.

    Parameters
    ----------
    plugins
        Loaded plugins.
    prefer
        ``{str(key): plugin name}``, decides between several providers.

    Raises
    ------
    PluginConflictError
        Two plugins provide one key and `prefer` does not decide, or it names a plugin that does not provide the key.
    """

    def __init__(self, plugins: LoadedPlugins, prefer: Mapping[str, str]) -> None:
        self.plugins = plugins
        self._prefer = dict(prefer)
        self.codecs = self._collect("lance_provide_codecs")
        self.layouts = self._collect("lance_provide_layouts")
        self.arrays = self._collect("lance_provide_arrays")
        self.schemes = self._collect("lance_provide_buffer_schemes")
        self.column_encodings = self._collect("lance_provide_column_encodings")
        known = {str(key) for table in self.tables() for key in table}
        for key, plugin in self._prefer.items():
            if key not in known:
                raise PluginConflictError(f"the preference {key}={plugin} names an encoding that no plugin provides")
        self._message_types = _message_types(self.layouts, self.column_encodings)

    def tables(self) -> Iterable[Mapping[EncodingKey, Provided]]:
        """The five maps, in the order of the hooks."""
        return self.codecs, self.layouts, self.arrays, self.schemes, self.column_encodings

    def message_type(self, message: str, distribution: str = "") -> type[Message]:
        """Class that parses a page or column description named `message` on the wire.

        `distribution` is what the file says to install where no plugin knows the message.
        """
        found = self._message_types.get(message)
        if found is None:
            raise self.missing(EncodingKey(message), distribution)
        return found

    def codec(self, key: EncodingKey, distribution: str = "") -> CodecFactory:
        """Find a codec; `distribution` is what a private one says is to be installed."""
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
        """The error for a key nobody provides, chained to a broken plugin that seems to claim it."""
        advice = "`lance-arrow plugins` lists what there is"
        if distribution:
            # Words of the file: shown as such, and no more of them than a name has.
            advice = f"the file says to install {distribution[:_LONGEST_NAME]!r}"
        error = UnknownEncodingError(f"no installed plugin provides the encoding {key}; {advice}", detail=key)
        for record in self.plugins.claimants(key.case):
            error.add_note(
                f"plugin {record.name!r} of {record.distribution} {record.version} is broken: {record.error!r}"
            )
            error.__cause__ = record.error
        return error

    def _find(self, table: Mapping[EncodingKey, Provided], key: EncodingKey) -> Provided:
        found = table.get(key)
        if found is None:
            raise self.missing(key)
        return found

    def _collect(self, hook: str) -> Mapping[EncodingKey, Provided]:
        providers: dict[EncodingKey, list[Provided]] = {}
        for record, factory in self.plugins.provided(hook):
            if not isinstance(getattr(factory, "key", None), EncodingKey):
                raise PluginContractError(f"plugin {record.name!r} of {record.distribution}: {factory!r} has no key")
            providers.setdefault(factory.key, []).append(Provided(factory, record))
        return MappingProxyType({key: self._decide(key, found) for key, found in providers.items()})

    def _decide(self, key: EncodingKey, found: list[Provided]) -> Provided:
        wanted = self._prefer.get(str(key))
        if wanted is not None:
            chosen = [provided for provided in found if provided.plugin.name == wanted]
            if len(chosen) == 1:
                return chosen[0]
        elif len(found) == 1:
            return found[0]
        names = ", ".join(f"{p.plugin.name!r} of {p.plugin.distribution} {p.plugin.version}" for p in found)
        raise PluginConflictError(
            f"{key} is provided by {names}; decide with Settings(prefer={{'{key}': '<plugin name>'}}) "
            f"or LANCE_ARROW_PREFER='{key}=<plugin name>'" + (f" (now {wanted!r})" if wanted is not None else ""),
            detail=key,
        )


def _message_types(*tables: Mapping[EncodingKey, Provided]) -> Mapping[str, type[Message]]:
    types: dict[str, type[Message]] = {}
    for table in tables:
        for key, provided in table.items():
            first = types.setdefault(key.message, provided.factory.message_type)
            if first is not provided.factory.message_type:
                raise PluginConflictError(
                    f"plugin {provided.plugin.name!r} parses {key.message} with another class than the other plugins"
                )
    return MappingProxyType(types)
