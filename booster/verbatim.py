"""Replies that are wanted as they are: what of one can be voted on, and which cannot be used at all. Pure.

A chat's client gets a model's message back whole. What groups messages in a vote is read here: the tool calls, the JSON that the
client's `response_format` asks for, the final answer that a text states, else the text itself.
Above: `booster.drawing`. Below: the readers of `verifier`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.types import Proposal, Reply
from verifier.answers import extract_answer
from verifier.errors import CheckError
from verifier.schema import NotJson, compile_schema, parse_json
from verifier.schema_keywords import Exhausted
from verifier.structure import spelt

_SHOWN = 2000
"""Characters of a message that stand for it as its reasoning."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Spoken:
    """A message that can be given back."""

    proposal: Proposal
    states: bool
    """It states something that another message could state too; prose without a final answer does not."""
    cut: bool = False
    """It ended at its length before it stated anything."""


def read_message(reply: Reply, request: Mapping[str, Any]) -> Spoken | None:
    """Return what a reply says; None where it holds no message, or none in the form that the request asks for.

    Args:
        reply: As the model wrote it.
        request: The client's own parameters.
    """
    if reply.problem is not None:
        return None
    if reply.tool_calls:
        answer = spelt([_called(call) for call in reply.tool_calls])
        return Spoken(proposal=Proposal(text=f"call {answer}"[:_SHOWN], answer=answer), states=True)
    if _tool_wanted(request):
        return None
    text = reply.text.strip()
    if (wanted := json_wanted(request)) is not None:
        if violation(text, wanted) is not None:
            return None
        return Spoken(proposal=Proposal(text=text[:200], answer=text), states=True)
    answer = extract_answer(text) or ""
    if answer:
        return Spoken(proposal=Proposal(text=text[:200], rationale=text[:_SHOWN], answer=answer), states=True)
    return Spoken(proposal=Proposal(text=text[:200], answer=text), states=False, cut=reply.finish_reason == "length")


def _tool_wanted(request: Mapping[str, Any]) -> bool:
    """Say whether nothing but a tool call will do."""
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping):
        allowed = choice.get("allowed_tools")
        choice = allowed.get("mode") if isinstance(allowed, Mapping) else "required"
    return bool(request.get("tools")) and choice == "required"


def json_wanted(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the JSON Schema that a request's `response_format` sets, `{"type": "object"}` for `json_object`; None = any text."""
    wanted = request.get("response_format")
    match wanted if isinstance(wanted, Mapping) else None:
        case {"type": "json_schema", "json_schema": {"schema": Mapping() as schema}}:
            return schema
        case {"type": "json_schema"}:
            return {}
        case {"type": "json_object"}:
            return {"type": "object"}
        case _:
            return None


def violation(text: str, schema: Mapping[str, Any]) -> str | None:
    """Return why a text is not what the schema asks for; None where it is, or where that cannot be told.

    A schema that cannot be applied here still asks for JSON.
    """
    try:
        try:
            return compile_schema(schema).first_error(text)
        except CheckError:
            parse_json(text)
    except NotJson as error:
        return str(error)
    except Exhausted:
        pass
    return None


def _called(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return name and arguments of one tool call; its id is only an address."""
    kind = "custom" if isinstance(call.get("custom"), Mapping) else "function"
    said = call.get(kind)
    function: Mapping[str, Any] = said if isinstance(said, Mapping) else {}
    arguments = function.get("input" if kind == "custom" else "arguments")
    return {"name": function.get("name"), "arguments": _values(arguments)}


def _values(arguments: object) -> object:
    """Return arguments as JSON values; as they stand where they are none."""
    if not isinstance(arguments, str) or not arguments.strip():
        return {} if arguments in (None, "") else arguments
    try:
        return parse_json(arguments)
    except (NotJson, Exhausted):
        return arguments
