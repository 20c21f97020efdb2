"""Pages of HTML as tests read them: parsed, with all elements closed, and without anything from outside."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "br"}


class Page(HTMLParser):
    """A parsed page: elements are closed in the order of their nesting, rows and their bytes are collected."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.names: list[str] = []
        self._in_name = False
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._in_name = dict(attrs).get("class") == "name"
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        self._in_name = False

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.words.append(data)
        if self._in_name:
            self.names.append(data)

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def num_bytes(self) -> list[int]:
        return [int(found) for _, attributes in self.tags if (found := attributes.get("data-bytes"))]

    def with_tag(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag == name]


def check_is_alone(text: str) -> None:
    """No script, nothing fetched: neither by an element nor by a style."""
    page = Page(text)
    assert not {tag for tag, _ in page.tags} & {
        "script",
        "link",
        "img",
        "iframe",
        "object",
        "embed",
        "base",
        "form",
        "a",
    }
    names = {name for _, attributes in page.tags for name in attributes}
    assert not names & {"src", "href", "xlink:href", "srcset", "data", "action"}
    assert not any(name.startswith("on") for name in names)
    styles = [*re.findall(r"<style>(.*?)</style>", text, re.DOTALL), *(a.get("style") or "" for _, a in page.tags)]
    assert not any("url(" in style or "@import" in style for style in styles)
