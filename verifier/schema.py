"""JSON Schema (draft 2020-12) for schemas and texts that nobody vouches for.

The keywords come from `jsonschema`; around them stand four fences. Patterns run in RE2, never in `re`. Nothing is fetched:
a reference stays inside the schema. Sizes are bounded. And a meter charges every keyword for what it has to look at, since a
few hundred characters of nested references can ask for more work than there is time.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from verifier import pattern as regex
from verifier.errors import CheckError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_CHARS = 64_000
"""Length of the schema as compact JSON text."""
MAX_INSTANCE_CHARS = 200_000
"""Length of the JSON text that is validated."""
MAX_WORK = 100_000
"""Units of the meter for one validation, a few microseconds each."""
FIELD = "value"
FORMATS = ("date", "email", "ipv4", "ipv6", "uuid")
"""Formats that are asserted, beside `regex`; the others stay annotations, as the draft has it."""

_REFUSED = ("unevaluatedProperties", "unevaluatedItems")
_REFERENCES = ("$ref", "$dynamicRef")
_CHARS_PER_UNIT = 256
_ENTRIES_PER_UNIT = 4
_STEPS_PER_UNIT = 500

Keyword = Callable[[Any, Any, Any, Any], Iterator[Any] | None]


class NotJson(ValueError):
    """The text to validate is not JSON, or holds a number that JSON has no place for."""


class Exhausted(Exception):
    """The validation asked for more work than is granted, or nests too deep."""


class CompiledSchema:
    """A schema that passed all refusals, ready to validate texts. Build it with `compile_schema`."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        from referencing import Registry

        self._meter = _Meter()
        validator_class, formats = _validator_class(self._meter)
        self._validator = validator_class(schema, registry=Registry(), format_checker=formats)
        self._busy = threading.Lock()  # the meter is shared by all keywords of this schema

    def first_error(self, text: str) -> str | None:
        """Return why the JSON text does not satisfy the schema, with the path to the spot; None where it does.

        Raises:
            NotJson: the text is no JSON document.
            Exhausted: too large, too deep or too much work; nothing is known about the text.
        """
        instance = parse_json(text)
        with self._busy:
            self._meter.start(instance)
            try:
                error = next(self._validator.iter_errors(instance), None)
            except RecursionError:
                raise Exhausted("schema and text nest too deep") from None
            except Exhausted:
                raise
            except Exception as error:  # a schema that is legal in form may still lead the engine astray, in any way
                raise Exhausted(f"the schema cannot be applied: {type(error).__name__}: {error}") from error
        return None if error is None else f"{error.json_path}: {error.message}"


def compile_schema(schema: Mapping[str, Any]) -> CompiledSchema:
    """Refuse a schema that cannot be applied safely, else make it ready; equal schemas share one compilation.

    Raises:
        CheckError: not JSON, too large, not draft 2020-12, a pattern that RE2 refuses, a reference out of the schema, or a
            keyword that is not supported. The field is the path inside the check.
    """
    try:
        text = json.dumps(schema, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise CheckError(f"the schema is not JSON ({error}); use objects, lists, text and numbers", field=FIELD) from error
    if len(text) > MAX_SCHEMA_CHARS:
        raise CheckError(f"the schema has {len(text)} characters; at most {MAX_SCHEMA_CHARS} are allowed", field=FIELD)
    return _compile(text)


def parse_json(text: str) -> Any:
    """Read a JSON text strictly: nothing around it, no NaN, no number that overflows.

    Raises:
        NotJson: it is no JSON document.
        Exhausted: longer than `MAX_INSTANCE_CHARS`, or nested too deep.
    """
    if len(text) > MAX_INSTANCE_CHARS:
        raise Exhausted(f"the text has {len(text)} characters; at most {MAX_INSTANCE_CHARS} are validated")
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_no_constant)
    except RecursionError:
        raise Exhausted("the text nests too deep") from None
    except ValueError as error:
        raise NotJson(f"not JSON: {error}") from error


@lru_cache(maxsize=128)
def _compile(text: str) -> CompiledSchema:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    schema: dict[str, Any] = json.loads(text)
    if schema.pop("$schema", DIALECT).rstrip("#") != DIALECT:
        raise CheckError(f"only draft 2020-12 is supported; remove it or say {DIALECT}", field=f"{FIELD}.$schema")
    _refuse_unsafe(schema)
    try:
        Draft202012Validator.check_schema(schema, format_checker=_formats())
    except SchemaError as error:
        path = ".".join((FIELD, *map(str, error.absolute_path)))
        raise CheckError(f"not a valid schema: {_reason(error)}", field=path) from error
    _refuse_patterns(schema)
    return CompiledSchema(schema)


def _refuse_unsafe(schema: dict[str, Any]) -> None:
    """Refuse what would leave the fences, wherever it stands: an annotation may be the target of a reference."""
    for path, node in _objects(schema):
        if isinstance(node.get("$schema"), str):
            raise CheckError("a part of a schema may not change the dialect; remove it", field=f"{path}.$schema")
        for keyword in _REFUSED:
            if keyword in node:
                raise CheckError("not supported; say additionalProperties or items", field=f"{path}.{keyword}")
        for keyword in _REFERENCES:
            target = node.get(keyword)
            if isinstance(target, str) and not target.startswith("#"):
                raise CheckError(f"{target!r} leads out of the schema; use #/$defs/...", field=f"{path}.{keyword}")


def _refuse_patterns(schema: dict[str, Any]) -> None:
    for path, node in _objects(schema):
        named = node.get("patternProperties")
        for where, text in [("pattern", node.get("pattern")), *(("patternProperties", name) for name in named or ())]:
            if isinstance(text, str):
                try:
                    regex.compile_pattern(text)
                except regex.PatternError as error:
                    raise CheckError(f"RE2 refuses the pattern {text[:80]!r}: {error}", field=f"{path}.{where}") from error


def _objects(schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Walk all objects of a JSON value with their paths; iterative, so that depth does not matter."""
    stack: list[tuple[str, Any]] = [(FIELD, schema)]
    while stack:
        path, node = stack.pop()
        if isinstance(node, dict):
            yield path, node
            stack.extend((f"{path}.{key}", item) for key, item in node.items())
        elif isinstance(node, list):
            stack.extend((f"{path}.{index}", item) for index, item in enumerate(node))
