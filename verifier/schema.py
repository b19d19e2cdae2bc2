"""JSON Schema (draft 2020-12) for schemas and texts that nobody vouches for.

The keywords come from `jsonschema`; around them stand four fences. Patterns run in RE2, never in `re`. Nothing is fetched:
a reference stays inside the schema. Sizes are bounded. And a meter charges every keyword for what it has to look at, since a
few hundred characters of nested references can ask for more work than there is time.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from verifier import pattern as regex
from verifier.errors import CheckError
from verifier.schema_keywords import Exhausted, Meter, build_validator, format_checker

DIALECT = "https://json-schema.org/draft/2020-12/schema"
MAX_SCHEMA_CHARS = 64_000
"""Length of the schema as compact JSON text."""
MAX_INSTANCE_CHARS = 200_000
"""Length of the JSON text that is validated."""
MAX_WORK = 50_000
"""Units of the meter for one validation, a few microseconds each."""
FIELD = "value"

_REFUSED = ("unevaluatedProperties", "unevaluatedItems")
_REFERENCES = ("$ref", "$dynamicRef")


class NotJson(ValueError):
    """The text to validate is not JSON, or holds a number that JSON has no place for."""


class CompiledSchema:
    """A schema that passed all refusals, ready to validate texts. Build it with `compile_schema`."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._meter = Meter(MAX_WORK)
        self._validator = build_validator(schema, self._meter)
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
            except Exhausted:
                raise
            except RecursionError:
                raise Exhausted("schema and text nest too deep") from None
            except Exception as problem:  # a schema of legal form may still lead the engine astray, in any way
                raise Exhausted(f"the schema cannot be applied: {problem}") from problem
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
        raise CheckError(
            f"the schema is not JSON ({error}); use objects, lists, text and numbers", field=FIELD
        ) from error
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
    schema: dict[str, Any] = json.loads(text)
    dialect = schema.pop("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        raise CheckError(f"only draft 2020-12 is supported; remove it or say {DIALECT}", field=f"{FIELD}.$schema")
    for path, node in _objects(schema):
        _refuse_unsafe(path, node)
    try:
        _check_form(schema)
        _check_references(schema)
        return CompiledSchema(schema)
    except RecursionError:
        raise CheckError("the schema nests too deep; flatten it with $defs", field=FIELD) from None


def _check_form(schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema, format_checker=format_checker())
    except SchemaError as error:
        path = ".".join((FIELD, *map(str, error.absolute_path)))
        raise CheckError(f"not a valid schema: {error.message[:200]}", field=path) from error


def _check_references(schema: dict[str, Any]) -> None:
    """Refuse a reference to nowhere. A schema with `$id` in its parts has several roots; there the engine finds out."""
    from referencing import Registry
    from referencing.exceptions import Unresolvable
    from referencing.jsonschema import DRAFT202012

    nodes = list(_objects(schema))
    if any("$id" in node for path, node in nodes if path != FIELD):
        return
    resolver = Registry().resolver_with_root(DRAFT202012.create_resource(schema))
    for path, node in nodes:
        for keyword in _REFERENCES:
            if isinstance(target := node.get(keyword), str):
                try:
                    resolver.lookup(target)
                except (Unresolvable, ValueError) as error:
                    raise CheckError(
                        f"{target[:80]!r} points to nothing in the schema", field=f"{path}.{keyword}"
                    ) from error


def _refuse_unsafe(path: str, node: dict[str, Any]) -> None:
    """Refuse what would leave the fences, wherever it stands: any object may become a schema through a reference."""
    if isinstance(node.get("$schema"), str):
        raise CheckError("a part of a schema may not change the dialect; remove it", field=f"{path}.$schema")
    for keyword in _REFUSED:
        if keyword in node:
            raise CheckError("not supported; use additionalProperties or items", field=f"{path}.{keyword}")
    for keyword in _REFERENCES:
        target = node.get(keyword)
        if isinstance(target, str) and not target.startswith("#"):
            raise CheckError(f"{target[:80]!r} leads out of the schema; use #/$defs/...", field=f"{path}.{keyword}")
    named = node.get("patternProperties")
    patterns = [("pattern", node.get("pattern")), *(("patternProperties", name) for name in _names(named))]
    for keyword, text in patterns:
        try:
            regex.compile_pattern(text if isinstance(text, str) else "")
        except regex.PatternError as error:
            raise CheckError(
                f"RE2 refuses the pattern {str(text)[:80]!r}: {error}", field=f"{path}.{keyword}"
            ) from error


def _names(value: Any) -> list[str]:
    return list(value) if isinstance(value, dict) else []


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


def _finite(written: str) -> float:
    number = float(written)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {written[:40]} is too large")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")
