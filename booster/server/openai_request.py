"""From the body of a chat completion request to a solve. Pure.

Messages and parameters are the client's own and go to the model as they are. What is ours stands in the object `booster`, whose
names are those of every other door; a name or value there that does not fit is refused, since nobody would see a warning.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from booster.config import Config
from booster.options import nearest, parse_json, shown
from booster.server.arguments import budget_names, read_budget
from booster.server.openai_errors import RefusedError, bad_request, no_such_model
from booster.server.openai_models import Served
from booster.session import Budget
from booster.verbatim import json_wanted
from verifier.checks import parse_checks
from verifier.errors import CheckError
from verifier.schema import compile_schema
from verifier.types import Check

MAX_TASK_CHARS: Final = 20_000
"""Characters of the last question that stand for the conversation in lists, scores and summaries."""

_HERE: Final = ("checks", "budget", "progress")
"""Names in `booster` beside the options of a solve."""

_NOT_PASSED_ON: Final = frozenset({"model", "messages", "booster", "n", "stream", "stream_options"})

_CANNOT_RETURN: Final = {
    "logprobs": "log probabilities are not kept", "top_logprobs": "log probabilities are not kept",
    "functions": "it was replaced by `tools`", "function_call": "it was replaced by `tool_choice`",
    "audio": "only text comes back",
}  # fmt: skip
"""Parameters whose result could not be given back: refused, since leaving them out would be a silent loss."""

_DRAWS: Final = ("num_candidates", "samples")
"""Options that say how much to draw, and so that drawing is wanted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One request, read."""

    model: str
    """As the client wrote it."""
    task: str
    messages: tuple[Mapping[str, Any], ...]
    request: Mapping[str, Any]
    """Parameters for the model, as the client sent them."""
    config: Mapping[str, Any]
    """Options of the solve under the names of the fields."""
    checks: tuple[Check, ...]
    budget: Budget
    stream: bool
    include_usage: bool
    """Of a stream: whether its last chunk reports usage."""
    progress: bool
    """Of a stream: whether progress comes as `reasoning_content`, and not in comments."""
    notes: tuple[str, ...] = ()
    """What the client should know about how its request was taken."""

    @property
    def verbatim(self) -> bool:
        """Whole messages are wanted, and nothing is added to the conversation."""
        return bool(self.config["granularity"] == "answer")

    def options(self) -> dict[str, Any]:
        """Return what `Booster.begin` takes beside the task."""
        return {
            "messages": self.messages, "request": self.request, "config": self.config, "checks": self.checks,
            "budget": self.budget, "verbatim": self.verbatim,
        }  # fmt: skip


def read_request(raw: bytes, base: Config, models: Mapping[str, Served]) -> Asked:
    """Return what a body asks for.

    Args:
        raw: The body.
        base: Options that hold where the body says nothing.
        models: Those that are served, by id.

    Raises:
        RefusedError: the body cannot be served; its refusal names the field.
        UsageError: an option does not fit; names it.
        CheckError: a check does not.
    """
    body = _object(raw)
    served = _model(body, models)
    messages = _messages(body.get("messages"))
    _refuse_what_cannot_be_returned(body)
    stream_options = _typed(body, "stream_options", dict) or {}
    ours = _typed(body, "booster", dict) or {}
    request = {name: value for name, value in body.items() if name not in _NOT_PASSED_ON}
    config, notes = _config(ours, served, base, request)
    return Asked(
        model=served.id, task=_task(messages), messages=messages, request=request, config=config,
        checks=_checks(ours.get("checks")), budget=_budget(ours.get("budget")),
        stream=bool(_typed(body, "stream", bool)),
        include_usage=bool(_typed(stream_options, "include_usage", bool, "stream_options.")),
        progress=bool(_typed(ours, "progress", bool, "booster.")), notes=(*notes, *_about_schema(request)),
    )  # fmt: skip


def _object(raw: bytes) -> dict[str, Any]:
    try:
        body = parse_json(raw.decode())
    except ValueError as error:
        raise bad_request(f"the body is not JSON: {error}", None, code="invalid_json") from None
    if not isinstance(body, dict):
        raise bad_request("the body is no JSON object", None, code="invalid_json")
    return body


def _model(body: Mapping[str, Any], models: Mapping[str, Served]) -> Served:
    model = body.get("model")
    if not isinstance(model, str):
        raise bad_request(f"model: is missing or no text; use {', '.join(models)}", "model")
    if model not in models:
        raise RefusedError(no_such_model(model, ", ".join(models)))
    return models[model]


def _messages(messages: object) -> tuple[Mapping[str, Any], ...]:
    if not isinstance(messages, list) or not messages:
        raise bad_request("messages: has to be a list of at least one message", "messages")
    for place, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise bad_request(f"messages[{place}]: is no object with a role", f"messages[{place}]")
    return tuple(messages)


def _refuse_what_cannot_be_returned(body: Mapping[str, Any]) -> None:
    n = body.get("n")
    if n is not None and (isinstance(n, bool) or n != 1):
        raise bad_request(
            f"n: {shown(n)} is not supported, one choice comes back; booster.candidates says how many are drawn for it",
            "n",
            code="unsupported_value",
        )
    for name, reason in _CANNOT_RETURN.items():
        if body.get(name) not in (None, False):
            raise bad_request(f"{name}: is not supported: {reason}", name, code="unsupported_parameter")
    if body.get("modalities") not in (None, ["text"]):
        raise bad_request('modalities: only ["text"] is supported', "modalities", code="unsupported_value")


def _typed(body: Mapping[str, Any], name: str, kind: type, prefix: str = "") -> Any:
    """Return a value of this type, or None where there is none."""
    value = body.get(name)
    if value is not None and not isinstance(value, kind):
        wanted = {bool: "true or false", dict: "an object"}[kind]
        raise bad_request(f"{prefix}{name}: {shown(value)} is not {wanted}", f"{prefix}{name}")
    return value


def _config(
    ours: Mapping[str, Any], served: Served, base: Config, request: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the options of the solve by the names of their fields, and notes about what was decided for the client."""
    spellings = Config.spellings()
    _refuse_unknown("booster", ours, (*spellings, *_HERE))
    given = {name: value for name, value in ours.items() if name not in _HERE and value is not None}
    base.override(given)  # refuses what does not fit, and an option that is given by two names
    theirs = {spellings[name]: value for name, value in given.items()}
    config: dict[str, Any] = {spellings[name]: value for name, value in served.options.items()} | theirs
    config.setdefault("granularity", "answer")
    if config["granularity"] != "answer":
        _refuse_steps(config["granularity"], request)
        return config, []
    if "sampling_max_tokens" in theirs:
        raise bad_request(
            "booster.samplingMaxTokens: set max_completion_tokens or max_tokens of the request itself",
            "booster.samplingMaxTokens",
        )
    config.setdefault("iterations", 1)
    effective, _ = base.override(config)
    scheduler, notes = _scheduler(theirs, effective, request)
    return {**config, **scheduler}, notes


def _refuse_unknown(place: str, given: Iterable[str], known: Sequence[str], *, param: str | None = None) -> None:
    for name in given:
        if name not in known:
            why = Config.elsewhere.get(name) or f"is no option{nearest(name, known)}"
            raise bad_request(f"{place}.{name}: {why}", param or f"{place}.{name}", code="unknown_option")


def _scheduler(
    theirs: Mapping[str, Any], effective: Config, request: Mapping[str, Any]
) -> tuple[dict[str, str], list[str]]:
    """Return who decides on the number of calls, where nobody has said so: who says how many are drawn wants them drawn."""
    stated = effective.model_fields_set
    if "scheduler" in stated:
        return {}, []
    if any(name in theirs for name in _DRAWS):
        return {"scheduler": "system2"}, []
    one_model = len(effective.models) < 2 and (effective.fast_model in (None, effective.strong_model))
    if repeats_itself(request) and one_model and not stated.intersection(_DRAWS):
        note = "one call: with `seed`, or a temperature of 0, further ones would only repeat it"
        return {"scheduler": "system1"}, [note]
    return {}, []


def repeats_itself(request: Mapping[str, Any]) -> bool:
    """Say whether equal calls give equal replies, so that their agreement would prove nothing."""
    return request.get("temperature") == 0 or request.get("seed") is not None


def _refuse_steps(granularity: str, request: Mapping[str, Any]) -> None:
    for name in ("tools", "response_format"):
        if request.get(name):
            raise bad_request(
                f"booster.granularity: {granularity!r} asks for steps, which leave no room for {name}; use 'answer'",
                "booster.granularity",
            )


def _checks(checks: object) -> tuple[Check, ...]:
    if checks is None:
        return ()
    if not isinstance(checks, list):
        raise bad_request("booster.checks: has to be a list of objects {kind, value}", "booster.checks")
    return parse_checks(checks)


def _budget(budget: object) -> Budget:
    if budget is None:
        return Budget()
    if not isinstance(budget, dict):
        raise bad_request("booster.budget: has to be an object with calls, seconds, tokens, costUsd", "booster.budget")
    _refuse_unknown("booster.budget", budget, budget_names(), param="booster.budget")
    found, _ = read_budget(budget)
    return found


def _about_schema(request: Mapping[str, Any]) -> Sequence[str]:
    """Say where the schema of `response_format` cannot be applied here."""
    schema = json_wanted(request)
    try:
        if schema is not None:
            compile_schema(schema)
    except CheckError as error:
        return (f"response_format: only that replies are JSON is checked here, for {error}",)
    return ()


def _task(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the last thing that the user wrote, as the text that stands for the conversation."""
    asked = [text for message in messages if message["role"] == "user" and (text := _text(message.get("content")))]
    said = asked or [text for message in messages if (text := _text(message.get("content")))]
    return said[-1][:MAX_TASK_CHARS] if said else "(a conversation without text)"


def _text(content: object) -> str:
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str)).strip()
