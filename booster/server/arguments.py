"""What the tools take: one model a tool, read leniently where clients are known to be sloppy and refused plainly elsewhere.

Clients send "8" for 8, "true" for true, JSON text for lists and objects, and null for what they leave out: all of that is
read, and the published schemas say so. Everything else that does not fit is refused with field and reason. Arguments that
no tool knows are reported, because the protocol library drops them silently.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field

from booster.errors import UsageError
from booster.options import Flag, Options, Real, Whole, read_structure
from booster.output import OutputFormat
from booster.session import Budget, ListedStatus
from providers.caller import caller_proposals
from verifier.checks import parse_check, parse_checks
from verifier.errors import CheckError
from verifier.types import Check

DEFAULT_WAIT: Final = 45.0
"""Seconds after which a tool answers at the latest: many clients give up after 60."""

Detail = Literal["brief", "full"]
"""`full` adds all candidates and raw prompts and replies."""

"""Status by which sessions can be listed."""


def _read_items(value: object) -> object:
    value = read_structure(value)
    return tuple(read_structure(item) for item in value) if isinstance(value, tuple) else value


Object = Annotated[dict[str, Any], BeforeValidator(read_structure)]
"""A JSON object; reads JSON text of one too."""
Objects = Annotated[tuple[dict[str, Any], ...], BeforeValidator(_read_items)]
"""A list of JSON objects; reads JSON text of it, or of its items, too."""


def _field(description: str, allowed: str, default: Any = None, **bounds: Any) -> Any:
    return Field(default, description=description, json_schema_extra={"allowed": allowed}, **bounds)


def _wait(default: float, least: float) -> Any:
    return _field(
        f"Answer within so many seconds, {least:g}..600 (default {default:g})",
        f"a number from {least:g} to 600",
        default,
        ge=least,
        le=600,
    )


def _session_id() -> Any:
    return _field("Handle from solve or start", "the id of a session, ses_…", ..., min_length=1)


def _candidates() -> Any:
    return _field("Candidates of this call only, 1..16", "a whole number from 1 to 16", ge=1, le=16)


class Arguments(Options):
    """Base of the argument models."""

    @classmethod
    def read(cls, given: Mapping[str, object]) -> tuple[Self, list[str]]:
        """Return the arguments of one tool call, and warnings about names that are not known.

        Raises:
            UsageError: an argument is missing or does not fit; the text names it.
        """
        return cls.model_construct().override(given)


class SolveArguments(Arguments):
    """Arguments of `solve`."""

    task: str = _field("The whole problem with all its data", "the text of the problem", ...)
    iterations: Whole | None = _field("At most, 1..64 (default 8)", "a whole number from 1 to 64", ge=1, le=64)
    config: Object | None = _field(
        "Options: numCandidates, scheduler (auto|system1|system2), strongModel, …", "an object with options"
    )
    checks: Objects | None = _field(
        "[{kind: numeric|equals|contains|regex|json_schema, value, target?: answer|step, options?: {rel, abs}}]",
        "a list of objects {kind, value}",
    )
    budget: Object | None = _field(
        "{calls: 24, seconds: 300, tokens, costUsd}; null in it = no limit",
        "an object with calls, seconds, tokens, costUsd",
    )
    expected_answer_format: str | None = _field("In words", "text", max_length=2000)
    output_path: str | None = _field("Also write the result to this relative file", "a relative path")
    output_format: OutputFormat = _field("Its format (default json)", '"json" or "text"', "json")
    overwrite: Flag = _field("Whether it may be replaced", "true or false", False)
    wait_seconds: Real = _wait(DEFAULT_WAIT, 1)
    detail: Detail = _field("full adds raw prompts and replies", '"brief" or "full"', "brief")

    def parsed_checks(self) -> tuple[Check, ...]:
        """Return the checks, ready to run.

        Raises:
            CheckError: one of them is wrong; names place and field.
        """
        return parse_checks(self.checks or ())

    def parsed_budget(self) -> tuple[Budget, list[str]]:
        """Return the budget, and warnings about names that are not known.

        Raises:
            UsageError: a limit is not a number in range; names it.
        """
        return read_budget(self.budget or {})


class StartArguments(Arguments):
    """Arguments of `start`."""

    task: str = _field("The whole problem", "the text of the problem", ...)
    config: Object | None = _field("Options, e.g. numCandidates, maxSteps", "an object with options")


class StepArguments(Arguments):
    """Arguments of `step`."""

    session_id: str = _session_id()
    override_num_candidates: Whole | None = _candidates()
    proposals: Objects | None = _field(
        "Your own candidates instead of a model's: [{text, rationale?, answer?, checks?: [{kind, value, target?}]}]",
        "a list of objects {text, rationale, answer, checks}",
        max_length=16,
    )
    detail: Detail = _field("full returns all candidates", '"brief" or "full"', "brief")

    def parsed_proposals(self) -> tuple[dict[str, Any], ...]:
        """Return the caller's proposals; every one of them can be used.

        Raises:
            UsageError: one is malformed; names it.
            CheckError: one of its checks is.
        """
        if self.proposals is None:
            return ()
        try:
            found = caller_proposals(self.proposals)
        except ValueError as error:
            raise UsageError(str(error), field="proposals") from None
        for index, proposal in enumerate(found):
            for check in proposal.checks:
                try:
                    parse_check(check)
                except CheckError as error:
                    raise UsageError(f"proposals[{index}].checks: {error}", field="proposals") from None
        return self.proposals


class MultiStepArguments(Arguments):
    """Arguments of `multi-step`."""

    session_id: str = _session_id()
    iterations: Whole = _field("Further iterations, 1..64", "a whole number from 1 to 64", ..., ge=1, le=64)
    override_num_candidates: Whole | None = _candidates()
    wait_seconds: Real = _wait(DEFAULT_WAIT, 1)


class GetStateArguments(Arguments):
    """Arguments of `get-state`."""

    session_id: str = _session_id()
    wait_seconds: Real = _wait(0, 0)
    detail: Detail = _field("full adds all candidates, raw prompts and replies", '"brief" or "full"', "brief")


class SessionArguments(Arguments):
    """Arguments of `summarize` and `cancel`."""

    session_id: str = _session_id()


class SessionsArguments(Arguments):
    """Arguments of `sessions`."""

    status: ListedStatus | None = _field(
        "Only these", "done, running, orphaned (running, but its process is gone), degraded, cancelled or failed"
    )
    limit: Whole = _field(
        "Most sessions to list, 1..200 (default 20)", "a whole number from 1 to 200", 20, ge=1, le=200
    )


class _BudgetArguments(Options):
    calls: Whole | None = _field("", "a whole number >= 1, or null for no limit", ge=1)
    seconds: Real | None = _field("", "a number of seconds >= 0, or null for no limit", ge=0)
    tokens: Whole | None = _field("", "a whole number >= 1, or null for no limit", ge=1)
    cost_usd: Real | None = _field("", "a number of US dollars >= 0, or null for no limit", ge=0)


def budget_names() -> tuple[str, ...]:
    """Return every spelling of a budget's limits."""
    return tuple(_BudgetArguments.spellings())


def read_budget(given: Mapping[str, object]) -> tuple[Budget, list[str]]:
    """Return a budget from its JSON object, and warnings about names that are not known.

    What is left out keeps its default. Inside a budget null is a statement: no limit.

    Raises:
        UsageError: a limit is not a number in range; names it as `budget.calls`.
    """
    try:
        limits, warnings = _BudgetArguments.parse(given)
    except UsageError as error:
        raise UsageError(f"budget.{error}", field=f"budget.{error.field}") from None
    spelt = _BudgetArguments.spellings()
    unlimited = {spelt[key]: None for key, value in given.items() if value is None and key in spelt}
    stated: dict[str, Any] = {name: getattr(limits, name) for name in limits.model_fields_set}
    return replace(Budget(), **unlimited, **stated), [f"budget: {warning}" for warning in warnings]


_WIDER: Final = {
    "integer": ("integer", "string"), "number": ("number", "string"), "boolean": ("boolean", "string"),
    "array": ("array", "string"), "object": ("object", "string"), "string": ("string",),
}  # fmt: skip
"""JSON type -> the types it is read from."""


def input_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """Return the JSON Schema that a tool publishes: compact, and as wide as what is really read."""
    schema = arguments.model_json_schema(by_alias=True)
    required = schema.get("required", [])
    properties = {
        name: _published(property_, nullable=name not in required) for name, property_ in schema["properties"].items()
    }
    return {"type": "object", "properties": properties, "required": required}


def _published(schema: Mapping[str, Any], *, nullable: bool) -> dict[str, Any]:
    """Return one property with the wider types as alternatives: lists of types are understood less widely."""
    options = [option for option in schema.get("anyOf", (schema,)) if option.get("type") != "null"]
    (option,) = options
    values = {"enum": option["enum"]} if "enum" in option else {}
    items = {"items": {"type": "object"}} if option["type"] == "array" else {}
    types: list[dict[str, Any]] = [
        {"type": name, **values, **(items if name == "array" else {})} for name in _WIDER[option["type"]]
    ]
    if nullable:
        types.append({"type": "null"})
    return {"description": schema["description"], **(types[0] if len(types) == 1 else {"anyOf": types})}
