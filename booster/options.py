"""The machinery of every options model: named values with bounds that arrive from files, environment, tools and keywords.

Above: `booster.config` says which options there are. Below: `booster.redact`, `booster.errors`. Clients send "8" for 8 and
JSON text for lists, so those are read; everything else that does not fit is refused in one line that names the field, the
value and the allowed range. A null counts as not given. Unknown names are reported, not fatal.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, ClassVar, Final, Literal, NoReturn, Self, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo

from booster.errors import UsageError
from booster.redact import Redactor, printable

MAX_SHOWN_CHARS: Final = 80
"""Characters of a refused value that an error repeats."""

MAX_NAMED_UNKNOWN: Final = 10
"""Unknown names that get a line of their own; a file of another program has hundreds."""


MAX_JSON_DEPTH: Final = 128
"""Lists and objects inside one another: what walks through a value recursively must not run out of stack."""


def parse_json(text: str) -> Any:
    """Read JSON as the standard has it: no NaN or Infinity, no name twice in one object; `MAX_JSON_DEPTH` at most.

    Raises:
        ValueError: the text is not such JSON; a `json.JSONDecodeError` where line and column are known.
    """
    try:
        found = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    except RecursionError:
        found = None
    else:
        if not _is_deep(found):
            return found
    raise ValueError(f"the JSON is nested too deeply, more than {MAX_JSON_DEPTH} lists and objects inside one another")


def _is_deep(value: object) -> bool:
    """Say whether a JSON value nests too deep, level by level and so without recursion."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH + 1):
        level = [
            child
            for item in level
            if isinstance(item, dict | list)
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise ValueError(f"the key {shown(key)} stands twice in one object")
        found[key] = value
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON; give a finite number")


def shown(value: object) -> str:
    """Return a value as an error may repeat it: as JSON, cut, without keys of services and control characters."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a value of type {type(value).__name__}"
    text = printable(Redactor()(text))
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "…"


def _whole(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,18}\s*", value):
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _real(value: object) -> object:
    decimal = r"\s*[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,3})?\s*"
    return float(value) if isinstance(value, str) and re.fullmatch(decimal, value) else value


def _flag(value: object) -> object:
    return {"true": True, "false": False}.get(value.strip().lower(), value) if isinstance(value, str) else value


def read_structure(value: object) -> object:
    """Return JSON text of a list or object as that, and lists as tuples; other values as they are."""
    if isinstance(value, str):
        try:
            value = parse_json(value)
        except ValueError:
            return value
    return tuple(value) if isinstance(value, list) else value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An int; reads "8" and 8.0 too, never true."""
Real = Annotated[float, Field(allow_inf_nan=False), BeforeValidator(_real)]
"""A finite float; reads "0.5" too."""
Flag = Annotated[bool, BeforeValidator(_flag)]
"""A bool; reads "true" and "false" in any case, never 1 or "yes"."""


def read_per_depth(value: object) -> object:
    """Return one whole number as it is, and a list of them, or its JSON text, as a tuple."""
    value = read_structure(value)
    return tuple(map(_whole, value)) if isinstance(value, tuple) else _whole(value)


PerDepth = Annotated[int | tuple[int, ...], BeforeValidator(read_per_depth)]
"""One whole number for every depth of a search, or one for each, the last for all beyond."""


def within(low: int, high: int, value: int | tuple[int, ...]) -> int | tuple[int, ...]:
    """Refuse numbers out of range and a list of none or of more than 16."""
    values = (value,) if isinstance(value, int) else value
    if not 1 <= len(values) <= 16 or not all(low <= one <= high for one in values):
        raise ValueError(f"a whole number from {low} to {high}, or a list of them, one a depth")
    return value


class Options(BaseModel):
    """Base of an options model: frozen, camelCase outside, snake_case inside."""

    model_config = ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        arbitrary_types_allowed=True,
    )

    also_known: ClassVar[Mapping[str, str]] = {}
    """Further spelling -> field name."""
    elsewhere: ClassVar[Mapping[str, str]] = {}
    """Name that belongs to another place -> what to tell who gives it here."""

    @classmethod
    def spellings(cls) -> dict[str, str]:
        """Return every name an option may be given by -> its field name."""
        return dict(_spellings(cls))

    @classmethod
    def parse(cls, given: Mapping[str, object]) -> tuple[Self, list[str]]:
        """Read options on top of the defaults; see `override`."""
        return cls().override(given)

    def override(self, given: Mapping[str, object]) -> tuple[Self, list[str]]:
        """Return these options with `given` on top, and warnings about names that are not known.

        Raises:
            UsageError: a value is not allowed, or one option is given by two names.
        """
        values, warnings = _recognise(type(self), given)
        kept = {name: getattr(self, name) for name in self.model_fields_set}
        try:
            merged = type(self).model_validate({**kept, **values}, context=frozenset(values))
        except ValidationError as error:
            raise _readable(type(self), error) from None
        return merged, warnings

    def plain(self) -> dict[str, Any]:
        """Return all options as JSON values under their camelCase names; `parse` reads it back."""
        return self.model_dump(mode="json", by_alias=True)

    @classmethod
    def table(cls) -> str:
        """Return the options as a Markdown table: name, environment variable, default, allowed values, meaning."""
        defaults = cls().plain()
        rows = ["| option | environment | default | allowed | meaning |", "|---|---|---|---|---|"]
        for name, field in cls.model_fields.items():
            default = defaults[_alias(name, field)]
            cells = (
                f"`{_alias(name, field)}`",
                f"`{environment_name(name)}`",
                "unset" if default is None else f"`{json.dumps(default)}`",
                allowed(field),
                field.description or "",
            )
            rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(rows) + "\n"


def environment_name(field_name: str) -> str:
    """Return the variable that sets an option: `num_candidates` -> `BOOSTER_NUM_CANDIDATES`."""
    return f"BOOSTER_{field_name.upper()}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `; did you mean 'x'?` for the known name most like `name`, or nothing where none is like it."""
    by_lower = {word.lower(): word for word in known}
    found = difflib.get_close_matches(name[:MAX_SHOWN_CHARS].lower(), by_lower, n=1, cutoff=0.5)
    return f"; did you mean '{by_lower[found[0]]}'?" if found else ""


def allowed(field: FieldInfo) -> str:
    """Return in words what a field takes, from its own type and bounds."""
    extra = field.json_schema_extra
    if isinstance(extra, dict) and "allowed" in extra:
        return str(extra["allowed"])
    choices = [choice for part in (field.annotation, *get_args(field.annotation)) for choice in _choices(part)]
    if choices:
        return " or ".join(f'"{choice}"' for choice in choices)
    low = next((item.ge for item in field.metadata if hasattr(item, "ge")), None)
    high = next((item.le for item in field.metadata if hasattr(item, "le")), None)
    if low is None:
        return "true or false"
    kind = "a whole number" if field.annotation is int else "a number"
    return f"{kind} from {low} to {high}"


def _choices(annotation: object) -> tuple[object, ...]:
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def _alias(name: str, field: FieldInfo) -> str:
    return field.alias or name


@cache
def _spellings(cls: type[Options]) -> Mapping[str, str]:
    found = {spelling: name for name, field in cls.model_fields.items() for spelling in (name, _alias(name, field))}
    return found | dict(cls.also_known)


def _recognise(cls: type[Options], given: Mapping[str, object]) -> tuple[dict[str, object], list[str]]:
    """Translate names into field names and drop nulls; report what is not known."""
    spellings = _spellings(cls)
    values: dict[str, object] = {}
    unknown: list[str] = []
    for key, value in given.items():
        if key not in spellings:
            unknown.append(str(key))
            continue
        name = spellings[key]
        if value is None:
            continue
        if name in values:
            raise UsageError(f"{key}: given twice under two names; keep one of them", field=key)
        values[name] = value
    warnings = [_about_unknown(cls, key) for key in unknown[:MAX_NAMED_UNKNOWN]]
    if rest := unknown[MAX_NAMED_UNKNOWN:]:
        warnings.append(f"{len(rest)} more unknown options are ignored")
    return values, warnings


def _about_unknown(cls: type[Options], key: str) -> str:
    if key in cls.elsewhere:
        return f"option {shown(key)} is ignored here: {cls.elsewhere[key]}"
    names = [_alias(name, field) for name, field in cls.model_fields.items()]
    return f"unknown option {shown(key)} is ignored{nearest(key, [*names, *cls.also_known, *cls.elsewhere])}"


def _readable(cls: type[Options], error: ValidationError) -> UsageError:
    """Turn pydantic's report into one line: `numCandidates: 17 is not allowed; use a whole number from 1 to 16`."""
    # A default that depends on a refused option reports a follow-up error of its own: not worth a word.
    problem = next(item for item in error.errors(include_url=False) if item["type"] != "default_factory_not_called")
    name = str(problem["loc"][0])
    field = cls.model_fields[_spellings(cls)[name]]
    alias = _alias(name, field)
    path = ".".join((alias, *(str(part) for part in problem["loc"][1:])))
    if problem["type"] == "missing":
        return UsageError(f"{path}: is missing; use {allowed(field)}", field=alias)
    reason = str(problem["ctx"]["error"]) if problem["type"] == "value_error" else allowed(field)
    return UsageError(f"{path}: {shown(problem['input'])} is not allowed; use {reason}", field=alias)
