"""An extension of griffe: each parameter of a docstring has the type and the default of the signature.

numpy's style lets several parameters share a paragraph; griffe then gives all of them the type of the first.
"""

from __future__ import annotations

from typing import Any

import griffe


class ParameterTypes(griffe.Extension):
    """Correct the parameters of functions, and of classes by their `__init__`."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Correct every function and class of the package, once all of it is known."""
        _correct(pkg)


def _correct(held: Any) -> None:
    for member in held.members.values():
        if member.is_alias:
            continue
        if member.is_function:
            _adopt(member.docstring, member.parameters)
        elif member.is_class:
            init = member.members.get("__init__")
            if init is not None and init.is_function:
                _adopt(member.docstring, init.parameters)
            else:
                _adopt_attributes(member)
            _correct(member)
        elif member.is_module:
            _correct(member)


def _adopt(docstring: griffe.Docstring | None, parameters: griffe.Parameters) -> None:
    for one in _documented(docstring):
        if one.name in parameters:
            one.annotation = parameters[one.name].annotation
            one.value = parameters[one.name].default


def _adopt_attributes(owner: griffe.Class) -> None:
    """Correct what a dataclass documents as parameters."""
    for one in _documented(owner.docstring):
        attribute = owner.members.get(one.name)
        if attribute is not None and attribute.is_attribute:
            one.annotation, one.value = attribute.annotation, attribute.value


def _documented(docstring: griffe.Docstring | None) -> list[Any]:
    if docstring is None:
        return []
    sections = docstring.parse("numpy", warnings=False)
    docstring.__dict__["parsed"] = sections
    return [one for part in sections if part.kind is griffe.DocstringSectionKind.parameters for one in part.value]
