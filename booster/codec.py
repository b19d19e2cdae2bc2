"""Frozen dataclasses to plain JSON values with camelCase keys, and back.

Field names are translated; keys of free-form mappings (`options`, `request`, messages) are left as their author wrote
them. `decode` ignores keys it does not know, so that an older program reads what a newer one wrote.
"""

import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def camel(name: str) -> str:
    """Return `total_score` as `totalScore`."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


@cache
def _layout(cls: type) -> tuple[tuple[Field[Any], str, Any], ...]:
    hints = get_type_hints(cls)
    return tuple((item, camel(item.name), hints[item.name]) for item in fields(cls))


def encode(value: Any) -> Any:
    """Return dataclasses as dictionaries and tuples as lists, recursively; other values as they are."""
    if is_dataclass(value) and not isinstance(value, type):
        return {key: encode(getattr(value, item.name)) for item, key, _ in _layout(type(value))}
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return value


def decode(cls: type[T], data: Mapping[str, Any]) -> T:
    """Rebuild a dataclass from `encode`'s form.

    Raises:
        ValueError: a field without default is missing; the text names it.
    """
    values = {}
    for item, key, hint in _layout(cls):
        if key in data:
            values[item.name] = _revive(hint, data[key])
        elif item.default is MISSING and item.default_factory is MISSING:
            raise ValueError(f"{cls.__name__}.{item.name} is missing")
    return cls(**values)


def _revive(hint: Any, value: Any) -> Any:
    if value is None:
        return None
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        options = [option for option in get_args(hint) if option is not type(None)]
        return _revive(options[0], value) if len(options) == 1 else value
    if origin is tuple:
        inner = get_args(hint)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(_revive(inner[0], item) for item in value)
        return tuple(_revive(part, item) for part, item in zip(inner, value, strict=True))
    if isinstance(hint, type) and is_dataclass(hint):
        return decode(cast("type[Any]", hint), value)
    return value
