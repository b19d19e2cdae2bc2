"""The body of a request, and what a refusal (400) teaches about it. Pure.

A server that refuses a parameter is asked again without it, or with its other name; what it refused is remembered for
the model, so each parameter costs one extra attempt once.
"""

import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from providers.endpoints import Profile
from providers.errors import RejectedError
from providers.types import Call

CAPS = ("max_tokens", "max_completion_tokens")
"""The two names of the upper bound of the reply."""

PARAMETER_REFUSED = "parameter_refused"
"""Kind of the transient error that says: the next attempt goes out without the parameter, send it at once."""

_OURS = frozenset({"model", "messages", *CAPS})
# One attempt yields one text: more choices would be paid for and thrown away, and a stream has no use here.
_NEVER_SENT = frozenset({"n", "stream", "stream_options"})
# Without these the answer would be one to another question.
_ESSENTIAL = frozenset({"model", "messages", "tools", "tool_choice", "functions", "function_call"})
# Parameter names that are everyday words: only believed where the message quotes them.
_EVERYDAY = frozenset({"stop", "user", "store", "metadata", "verbosity", "prediction", "modalities", "audio"})

_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))

_UNSUPPORTED = re.compile(
    r"unsupported|not support|not permitted|not allowed|unrecogni[sz]ed|unknown|unexpected|extra_forbidden",
    re.IGNORECASE,
)


def request_body(call: Call, model: str, profile: Profile, refused: Collection[str] = ()) -> dict[str, Any]:
    """Return the JSON body of one attempt.

    Args:
        model: The id to send.
        refused: Parameters that this server is known to refuse for this model.
    """
    left_out = _OURS | _NEVER_SENT | profile.refused | frozenset(refused)
    body = {name: value for name, value in call.request.items() if name not in left_out and value is not None}
    temperature = body.get("temperature")
    if isinstance(temperature, int | float) and temperature > profile.max_temperature:
        body["temperature"] = profile.max_temperature
    body["model"] = model
    body["messages"] = [dict(message) for message in call.messages]
    if call.max_tokens is not None:
        body[_cap_name(profile, refused)] = call.max_tokens
    else:
        body |= _own_caps(call.request, refused)
    return body


def encoded(body: Mapping[str, Any]) -> bytes:
    """Return a body as JSON in UTF-8.

    Raises:
        RejectedError: kind `not_unicode` (half of a surrogate pair), or `not_json` (NaN, infinity, bytes and whatever
            else JSON cannot say).
    """
    try:
        return _JSON.encode(body).encode()
    except UnicodeEncodeError:
        raise RejectedError("the prompt holds half a character", kind="not_unicode") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise RejectedError(f"the request is nothing that JSON can say: {error}", kind="not_json") from None


def refused_parameter(body: Mapping[str, Any], *, param: str | None, message: str, code: str = "") -> str | None:
    """Return the parameter of the body that a status 400 complains of, where doing without it can help.

    Essential parameters (`messages`, `tools`, ...) are never named. The upper bound of the reply is named only where the
    server does not know it: a bound that is merely too high would not get better under its other name.

    Args:
        body: As it was sent.
        param: Field `param` of the server's error, where it has one.
        message: Its text.
        code: Its machine-readable code.
    """
    name = _named(body, param, message)
    if name in CAPS and not _UNSUPPORTED.search(f"{code} {message}"):
        return None
    return name


def _named(body: Mapping[str, Any], param: str | None, message: str) -> str | None:
    """Return the parameter meant: by the error's own field, else quoted in the message, else as a bare word in it."""
    if param:
        # Some servers give a path: "body.temperature", "response_format.type".
        named = [part for part in re.split(r"[.\[\]]", param) if part in body]
        return next((part for part in named if part not in _ESSENTIAL), None)
    candidates = sorted((name for name in body if name not in _ESSENTIAL), key=len, reverse=True)
    for name in candidates:
        if re.search(rf"[`'\"‘“]{re.escape(name)}[`'\"’”]", message):
            return name
    for name in candidates:
        if name not in _EVERYDAY and re.search(rf"\b{re.escape(name)}\b", message):
            return name
    return None


def _own_caps(request: Mapping[str, Any], refused: Collection[str]) -> dict[str, Any]:
    """Return the upper bounds that the client set, under its own name for each unless only the other one is taken."""
    given = {name: request[name] for name in CAPS if request.get(name) is not None}
    taken = {name: value for name, value in given.items() if name not in refused}
    left = [name for name in CAPS if name not in refused]
    return taken or {name: next(iter(given.values())) for name in left if given}


def _cap_name(profile: Profile, refused: Collection[str]) -> str:
    """Return the profile's name for the upper bound, or the other one where only that one is left."""
    left = [name for name in CAPS if name not in refused]
    return left[0] if len(left) == 1 else profile.cap
