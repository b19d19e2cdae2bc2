"""Frozen dataclasses to plain JSON values with camelCase keys, and back.

Field names are translated; keys of free-form mappings (`options`, `request`, messages) are left as their author wrote
them. `decode` ignores keys it does not know, so that an older program reads what a newer one wrote. How a class is
translated is worked out once, at first use.
"""

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from operator import attrgetter
from typing import Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_PLAIN = frozenset({str, int, float, bool, type(None)})


class _Reader(NamedTuple):
    keys: tuple[str, ...]
    values: Callable[[Any], tuple[Any, ...]]
    """Reads all fields of an instance at once, in the order of the keys."""
    nested: tuple[str, ...]
    """Keys of those fields whose values may have to be translated themselves."""


class _Field(NamedTuple):
    name: str
    key: str
    revive: Callable[[Any], Any] | None
    """None = the JSON value is the field's value."""
    required: bool


def camel(name: str) -> str:
    """Return `total_score` as `totalScore`."""
    head, *tail = name.split("_")
    return head + "".join(word.capitalize() for word in tail)


def encode(value: Any) -> Any:
    """Return dataclasses as dictionaries and tuples as lists, recursively; exact numbers as text; other values as they are."""
    kind: Any = type(value)
    if kind in _PLAIN:
        return value
    if kind is tuple or kind is list:
        return [encode(item) for item in value]
    if kind is dict:
        return {key: item if type(item) in _PLAIN else encode(item) for key, item in value.items()}
    reader = _reader(kind)
    if reader is not None:
        found = dict(zip(reader.keys, reader.values(value), strict=True))
        for key in reader.nested:
            item = found[key]
            if type(item) not in _PLAIN:
                found[key] = encode(item)
        return found
    if isinstance(value, Mapping):
        return {key: encode(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    return str(value) if isinstance(value, Decimal | Fraction) else value


def decode(cls: type[T], data: Mapping[str, Any]) -> T:
    """Rebuild a dataclass from `encode`'s form.

    Raises:
        ValueError: a field without default is missing; the text names it.
    """
    values = {}
    kind: Any = cls
    for name, key, revive, required in _layout(kind):
        if key in data:
            found = data[key]
            values[name] = found if revive is None or found is None else revive(found)
        elif required:
            raise ValueError(f"{cls.__name__}.{name} is missing")
    return cls(**values)


@cache
def _reader(cls: type) -> _Reader | None:
    """Return how a dataclass is read; None for any other class."""
    if not is_dataclass(cls):
        return None
    hints = get_type_hints(cls)
    names = [field.name for field in fields(cls)]
    # For one name `attrgetter` would return no tuple.
    values = attrgetter(*names) if len(names) > 1 else lambda value: tuple(getattr(value, name) for name in names)
    nested = tuple(camel(name) for name in names if not _is_plain(hints[name]))
    return _Reader(keys=tuple(map(camel, names)), values=values, nested=nested)


def _is_plain(hint: Any) -> bool:
    """Say whether every value of a type is JSON as it stands."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        return all(map(_is_plain, get_args(hint)))
    return origin is Literal or hint in _PLAIN


@cache
def _layout(cls: type) -> tuple[_Field, ...]:
    hints = get_type_hints(cls)
    return tuple(
        _Field(
            name=field.name, key=camel(field.name), revive=_reviver(hints[field.name]),
            required=field.default is MISSING and field.default_factory is MISSING,
        )
        for field in fields(cls)
    )  # fmt: skip


def _reviver(hint: Any) -> Callable[[Any], Any] | None:
    """Return the function that turns a JSON value into what the hint says; None where nothing is to be done."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        options = [option for option in arguments if option is not type(None)]
        return _reviver(options[0]) if len(options) == 1 else None
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        inner = _reviver(arguments[0])
        return tuple if inner is None else lambda items: tuple(map(inner, items))
    if origin is tuple:
        parts = [_reviver(argument) or _same for argument in arguments]
        return lambda items: tuple(part(item) for part, item in zip(parts, items, strict=True))
    if isinstance(hint, type) and is_dataclass(hint):
        dataclass: type[Any] = hint
        return lambda data: decode(dataclass, data)
    return None


def _same(value: Any) -> Any:
    return value
