"""An extension of griffe: correct types, defaults and errors of docstrings in numpy's style.

Several parameters may share a paragraph; griffe then gives all of them the type of the first. Several errors may share
one, too; griffe takes them for a tuple. Defaults that name a constant of the package get its value.
"""

from __future__ import annotations

from typing import Any

import griffe


class ParameterTypes(griffe.Extension):
    """Correct the parameters of functions, and of classes by their `__init__`, and the errors of both."""

    def on_package(self, *, pkg: griffe.Module, **kwargs: Any) -> None:
        """Correct every function and class of the package, once all of it is known."""
        _correct(pkg)


def _correct(held: Any) -> None:
    for member in held.members.values():
        if member.is_alias:
            continue
        if member.is_function:
            _name_values(member)
            _adopt(member.docstring, member.parameters)
        elif member.is_class:
            init = member.members.get("__init__")
            if init is not None and init.is_function:
                _name_values(init)
                _adopt(member.docstring, init.parameters)
            else:
                _adopt_attributes(member)
            _correct(member)
        elif member.is_module:
            _correct(member)


def _name_values(function: griffe.Function) -> None:
    """Replace defaults that name a constant of the package by its value."""
    for parameter in function.parameters:
        if isinstance(parameter.default, griffe.ExprName):
            try:
                found = function.modules_collection[parameter.default.canonical_path]
                constant = found.final_target if found.is_alias else found
            except (KeyError, griffe.AliasResolutionError, griffe.CyclicAliasError):
                continue
            if constant.is_attribute and constant.value is not None:
                parameter.default = constant.value


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
    for part in sections:
        if part.kind is griffe.DocstringSectionKind.raises:
            for one in part.value:
                if isinstance(one.annotation, griffe.ExprTuple):
                    one.annotation = ", ".join(str(error) for error in one.annotation.elements)
    return [one for part in sections if part.kind is griffe.DocstringSectionKind.parameters for one in part.value]
