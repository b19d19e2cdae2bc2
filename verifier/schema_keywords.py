"""The keywords of JSON Schema 2020-12 behind the fences of `verifier.schema`: patterns in RE2, every keyword metered."""

from collections.abc import Callable, Hashable, Iterator
from typing import Any

from verifier import pattern as regex

FORMATS = ("date", "email", "ipv4", "ipv6", "uuid")
"""Formats that are asserted, beside `regex`; the others stay annotations, as the draft has it."""

_CHARS_PER_UNIT = 256
_ENTRIES_PER_UNIT = 4
_STEPS_PER_UNIT = 500

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]
"""How the engine calls a keyword: (validator, value of the keyword, instance, schema) -> errors."""


class Exhausted(Exception):
    """The validation asks for more work than is granted, or nests too deep; nothing is known about the text."""


class Meter:
    """Counts the work of one validation in units of some microseconds.

    Args:
        limit: Units that one validation may use.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._left = limit
        self._weights: dict[int, int] = {}

    def start(self, instance: Any) -> None:
        """Begin a validation of this instance."""
        self._left = self._limit
        self._weights = _weigh(instance)

    def charge(self, units: int) -> None:
        """Use some units.

        Raises:
            Exhausted: they are used up.
        """
        self._left -= units
        if self._left < 0:
            raise Exhausted("the validation takes too much work; simplify the schema or shorten the text")

    def charge_keyword(self, value: Any, instance: Any) -> None:
        """Use the units of applying one keyword: what it compares and what an error message would print."""
        entries = sum(len(part) for part in (value, instance) if isinstance(part, (list, dict)))
        weight = len(instance) if isinstance(instance, str) else self._weights.get(id(instance), 0)
        self.charge(1 + entries // _ENTRIES_PER_UNIT + weight // _CHARS_PER_UNIT)

    def matches(self, pattern: str, text: str) -> bool:
        """Say whether the pattern occurs in the text, and charge for the search."""
        self.charge(regex.work(pattern, text) // _STEPS_PER_UNIT)
        return regex.search(pattern, text) is not None


def build_validator(schema: dict[str, Any], meter: Meter) -> Any:
    """Return a validator of the `jsonschema` package for this schema that cannot fetch, stall or run `re` on a user's pattern."""
    from jsonschema import Draft202012Validator, validators
    from referencing import Registry

    keywords = {**Draft202012Validator.VALIDATORS, **_own_keywords(meter)}
    fenced = validators.extend(
        Draft202012Validator, {name: _metered(keyword, meter) for name, keyword in keywords.items()}
    )
    return fenced(schema, registry=Registry(), format_checker=format_checker())


def format_checker() -> Any:
    """Return the checker of the asserted formats; `regex` means what RE2 accepts."""
    from jsonschema import FormatChecker

    formats = FormatChecker(formats=FORMATS)
    formats.checks("regex", raises=regex.PatternError)(_is_pattern)
    return formats


def _is_pattern(instance: object) -> bool:
    if isinstance(instance, str):
        regex.compile_pattern(instance)
    return True


def _metered(keyword: Keyword, meter: Meter) -> Keyword:
    def apply(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any] | None:
        meter.charge_keyword(value, instance)
        return keyword(validator, value, instance, schema)

    return apply


def _own_keywords(meter: Meter) -> dict[str, Keyword]:
    """Return the keywords that the engine would run through `re`, or in quadratic time."""
    from jsonschema.exceptions import ValidationError

    def pattern(validator: Any, value: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not meter.matches(value, instance):
            yield ValidationError(f"{instance!r} does not match {value!r}")

    def pattern_properties(validator: Any, value: dict[str, Any], instance: Any, schema: Any) -> Iterator[Any]:
        for text, subschema in value.items() if isinstance(instance, dict) else ():
            for name, item in instance.items():
                if meter.matches(text, name):
                    yield from validator.descend(item, subschema, path=name, schema_path=text)

    def additional_properties(validator: Any, value: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if not isinstance(instance, dict):
            return
        patterns = schema.get("patternProperties", {})
        for name in instance.keys() - schema.get("properties", {}).keys():
            if not any(meter.matches(text, name) for text in patterns):
                yield from validator.descend(instance[name], value, path=name)

    def unique_items(validator: Any, value: bool, instance: Any, schema: Any) -> Iterator[Any]:
        if value and isinstance(instance, list) and len(set(map(_identity, instance))) < len(instance):
            yield ValidationError("the items are not unique")

    return {
        "pattern": pattern,
        "patternProperties": pattern_properties,
        "additionalProperties": additional_properties,
        "uniqueItems": unique_items,
    }


def _identity(value: Any) -> Hashable:
    """Return a hashable value that is equal for equal JSON values only: 1 and 1.0 are equal, 1 and true are not."""
    if isinstance(value, list):
        return ("list", tuple(map(_identity, value)))
    if isinstance(value, dict):
        return ("dict", frozenset((name, _identity(item)) for name, item in value.items()))
    return (isinstance(value, bool), value)


def _weigh(instance: Any) -> dict[int, int]:
    """Return the approximate length as text of every list and object in a JSON value, by identity."""
    weights: dict[int, int] = {}
    visits: list[tuple[Any, bool]] = [(instance, False)]
    while visits:
        node, counted = visits.pop()
        if not isinstance(node, (list, dict)):
            continue
        children = list(node.values()) if isinstance(node, dict) else node
        if counted:
            names = sum(map(len, node)) if isinstance(node, dict) else 0
            weights[id(node)] = names + sum(_weight(child, weights) for child in children)
        else:
            visits.append((node, True))
            visits.extend((child, False) for child in children)
    return weights


def _weight(child: Any, weights: dict[int, int]) -> int:
    return 2 + (len(child) if isinstance(child, str) else weights.get(id(child), 8))
