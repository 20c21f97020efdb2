"""Arrow types and schemas as text: ``int64``, ``timestamp[us, tz=UTC]``, ``list<float>``, ``id: int64, s: string``."""

from __future__ import annotations

import re

import pyarrow as pa

from lance_arrow.errors import InvalidArgumentError

_TOKEN = re.compile(r"\s*(?:([A-Za-z_][\w.]*)|(\d+)|(.))")
_ALIASES = {
    "float": "float32",
    "double": "float64",
    "halffloat": "float16",
    "text": "string",
    "boolean": "bool",
    "date": "date32",
}
_HINT = "examples: int64, string, timestamp[us, tz=UTC], decimal128(10, 2), list<float>, struct<a: int32>"


def parse_type(text: str) -> pa.DataType:
    """Parse the name of a type, as pyarrow prints it or by one of its aliases.

    Raises
    ------
    InvalidArgumentError
        There is no such type.
    """
    parser = _Parser(text)
    found = parser.type()
    parser.end()
    return found


def parse_schema(text: str) -> pa.Schema:
    """Parse ``name: type, name: type``; ``not null`` may follow a type.

    Raises
    ------
    InvalidArgumentError
        The text is not of this form.
    """
    parser = _Parser(text)
    found = pa.schema(parser.fields(None))
    parser.end()
    return found


class _Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def end(self) -> None:
        """Refuse what is left."""
        if self._text[self._at :].strip():
            raise self._error(f"unexpected {self._text[self._at :].strip()!r}")

    def fields(self, stop: str | None) -> list[pa.Field]:
        """Read ``name: type`` and commas, up to `stop`."""
        found: list[pa.Field] = []
        if stop is not None and self._take(stop):
            return found
        while True:
            name = self._name()
            self._expect(":")
            type_ = self.type()
            nullable = not (self._take("not") and self._expect("null"))
            found.append(pa.field(name, type_, nullable))
            if self._take(","):
                continue
            if stop is not None:
                self._expect(stop)
            return found

    def type(self) -> pa.DataType:
        """Read one type."""
        name = self._word()
        if name in ("list", "large_list", "fixed_size_list"):
            return self._list(name)
        if name == "struct":
            self._expect("<")
            return pa.struct(self.fields(">"))
        if name == "map":
            self._expect("<")
            key = self.type()
            self._expect(",")
            item = self.type()
            self._expect(">")
            return pa.map_(key, item)
        if name == "dictionary":
            return self._dictionary()
        if name.startswith("decimal") and self._take("("):
            return self._decimal(name)
        if name in ("fixed_size_binary", "binary") and self._take("["):
            width = self._number()
            self._expect("]")
            return pa.binary(width)
        if self._take("["):
            return self._unit(name)
        return self._plain(name)

    def _list(self, name: str) -> pa.DataType:
        self._expect("<")
        start = self._at
        self._word()
        # As pyarrow prints it, the item has a name.
        if not self._take(":"):
            self._at = start
        item = self.type()
        self._expect(">")
        if name == "large_list":
            return pa.large_list(item)
        if self._take("["):
            width = self._number()
            self._expect("]")
            return pa.list_(item, width)
        if name == "fixed_size_list":
            raise self._error("fixed_size_list needs its size: fixed_size_list<float>[3]")
        return pa.list_(item)

    def _dictionary(self) -> pa.DataType:
        parts = {"values": pa.string(), "indices": pa.int32()}
        if self._take("<"):
            while not self._take(">"):
                name = self._word()
                self._expect("=")
                if name == "ordered":
                    self._number()
                elif name in parts:
                    parts[name] = self.type()
                else:
                    raise self._error("a dictionary has values= and indices=")
                self._take(",")
        return pa.dictionary(parts["indices"], parts["values"])

    def _decimal(self, name: str) -> pa.DataType:
        precision = self._number()
        scale = 0
        if self._take(","):
            sign = -1 if self._take("-") else 1
            scale = sign * self._number()
        self._expect(")")
        makers = {"decimal": pa.decimal128, "decimal128": pa.decimal128, "decimal256": pa.decimal256}
        if name not in makers:
            raise self._error(f"no type {name!r}; {_HINT}")
        try:
            return makers[name](precision, scale)
        except ValueError as error:
            raise self._error(str(error)) from None

    def _unit(self, name: str) -> pa.DataType:
        unit = self._word()
        zone = None
        if self._take(","):
            if self._word() != "tz":
                raise self._error("expected tz=")
            self._expect("=")
            stop = self._text.find("]", self._at)
            zone = self._text[self._at : stop].strip().strip("'\"") if stop >= 0 else None
            self._at = max(stop, self._at)
        self._expect("]")
        if name == "timestamp" and unit in ("s", "ms", "us", "ns"):
            return pa.timestamp(unit, zone)
        if zone is not None:
            raise self._error("only timestamps have a time zone")
        # pyarrow prints date32[day] and date64[ms].
        if (name, unit) in (("date32", "day"), ("date64", "ms")):
            return self._plain(name)
        return self._plain(f"{name}[{unit}]")

    def _plain(self, name: str) -> pa.DataType:
        try:
            return pa.type_for_alias(_ALIASES.get(name, name))
        except ValueError:
            raise self._error(f"no type {name!r}; {_HINT}") from None

    def _name(self) -> str:
        rest = self._text[self._at :].lstrip()
        if rest[:1] in ("'", '"'):
            close = rest.find(rest[0], 1)
            if close < 0:
                raise self._error("a quoted name does not end")
            self._at = len(self._text) - len(rest) + close + 1
            return rest[1:close]
        return self._word()

    def _word(self) -> str:
        matched = _TOKEN.match(self._text, self._at)
        if matched is None or matched[1] is None:
            raise self._error("expected a name")
        self._at = matched.end()
        return matched[1]

    def _number(self) -> int:
        matched = _TOKEN.match(self._text, self._at)
        if matched is None or matched[2] is None:
            raise self._error("expected a number")
        self._at = matched.end()
        return int(matched[2])

    def _take(self, token: str) -> bool:
        matched = _TOKEN.match(self._text, self._at)
        if matched is None or matched[0].strip() != token:
            return False
        self._at = matched.end()
        return True

    def _expect(self, token: str) -> bool:
        if not self._take(token):
            raise self._error(f"expected {token!r}")
        return True

    def _error(self, problem: str) -> InvalidArgumentError:
        return InvalidArgumentError(f"{self._text!r}, character {self._at}: {problem}", detail=self._text)
