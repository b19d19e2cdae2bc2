"""From what the HTTP client raises to our errors: which of them, with what advice, and when to try again.

Nothing here raises and nothing keeps aiohttp's exception: it holds the request with its `Authorization` header.
"""

import math
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from providers.endpoints import Endpoint
from providers.errors import ConfigurationError, ProviderError, RejectedError, TransientError
from providers.reading import QUOTED, error_in

NEVER_RETRY = frozenset(
    {
        "insufficient_quota",
        "credit_balance_exhausted",
        "organization_spend_limit_exceeded",
        "project_spend_limit_exceeded",
        "organization_usage_limit_exceeded",
    }
)
"""Codes of refusals that no waiting mends; some come with status 429."""

_BAD_KEY = frozenset({"invalid_api_key", "api_key_invalid"})
_BAD_MODEL = frozenset({"model_not_found", "model_not_available", "model_decommissioned"})

_WAIT_HEADERS = (("retry-after-ms", 0.001), ("retry-after", 1.0), ("x-ratelimit-reset-tokens-minute", 1.0))
"""In the order in which they are believed, with the seconds of their unit."""


def status_error(
    status: int, body: object, headers: Mapping[str, str], *, endpoint: Endpoint, model: str, now: float
) -> ProviderError:
    """Return the error for an HTTP status that is none of success.

    Args:
        body: Decoded JSON, or text.
        headers: Names in lower case, or a mapping that ignores case.
        now: Seconds since the epoch, for a `Retry-After` that is a date.
    """
    said, codes = said_by_server(body)
    cls, kind, advice = _judge(status, codes, said, endpoint, model)
    text = f"{endpoint.name} answered HTTP {status} at {endpoint.url} for model {model!r}"
    if status < 400 and (elsewhere := headers.get("location")):
        said = f"go to {elsewhere[:QUOTED]}"
    # The advice comes first, because what the server says may be long and is cut where it is shown.
    return cls(
        ". ".join(part for part in (text, advice, said and f"It said: {said}") if part),
        kind=kind,
        status=status,
        endpoint=endpoint.url,
        model=model,
        provider=endpoint.name,
        retry_after=retry_after(headers, now),
    )


def transport_error(error: BaseException, *, endpoint: Endpoint, model: str) -> ProviderError:
    """Return the error for a call that got no HTTP status: kind `timeout`, `tls` or `connection`.

    A certificate that is not trusted stays so: it is a matter of configuration, not one to try again.

    Args:
        error: As aiohttp raised it.
    """
    from aiohttp import ClientConnectorCertificateError, ClientSSLError

    fields: dict[str, Any] = {"endpoint": endpoint.url, "model": model, "provider": endpoint.name}
    if isinstance(error, ClientConnectorCertificateError):
        return ConfigurationError(
            f"{endpoint.name} at {endpoint.url} showed a certificate that this machine does not trust. Trust comes from the"
            " operating system's store: in a slim container install its `ca-certificates`, behind a company proxy add the"
            f" proxy's root certificate there; else check {endpoint.knob('BASE_URL')}",
            kind="tls",
            **fields,
        )
    if isinstance(error, TimeoutError):
        return TransientError(f"{endpoint.name} did not answer in time at {endpoint.url}", kind="timeout", **fields)
    hint = " (TLS; trust comes from the operating system's store)" if isinstance(error, ClientSSLError) else ""
    return TransientError(
        f"no connection to {endpoint.name} at {endpoint.url}: {_detail(error)[:QUOTED]}{hint}",
        kind="connection",
        **fields,
    )


def said_by_server(body: object) -> tuple[str, frozenset[str]]:
    """Return the server's message and its codes (`code`, `type`, `status`, in lower case) from an error body."""
    error = error_in(body)
    if error is None and isinstance(body, Mapping):
        error = body
    if error is None:
        return str(body or "").strip()[:QUOTED], frozenset()
    said = error.get("message") or error.get("detail") or dict(error)
    codes = frozenset(str(error[name]).lower() for name in ("code", "type", "status") if error.get(name))
    return str(said)[:QUOTED], codes


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds that the server asks us to wait, 0 or more; None = it does not say.

    Args:
        now: Seconds since the epoch.
    """
    for name, unit in _WAIT_HEADERS:
        if (value := headers.get(name)) and (seconds := _seconds(value, unit, now)) is not None:
            return max(0.0, seconds)
    return None


def _seconds(value: str, unit: float, now: float) -> float | None:
    try:
        seconds = float(value) * unit
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - now
        except (ValueError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) else None


def _judge(
    status: int, codes: frozenset[str], said: str, endpoint: Endpoint, model: str
) -> tuple[type[ProviderError], str, str]:
    """Return (class, kind, advice)."""
    key, model_knob, url = endpoint.knob("API_KEY"), endpoint.knob("MODEL"), endpoint.knob("BASE_URL")
    if model != endpoint.model:
        model_knob = "whichever of fastModel, strongModel, judgeModel and models names it"
    if quota := codes & NEVER_RETRY:
        return ConfigurationError, min(quota), f"The account behind {key} has nothing left to spend"
    if status in (401, 403) or codes & _BAD_KEY or "api key not valid" in said.lower():
        return ConfigurationError, "authentication", f"Check {key}" if endpoint.key else f"{key} is not set"
    if status == 402:
        return ConfigurationError, "payment_required", f"The account behind {key} has to be paid for"
    if codes & _BAD_MODEL:
        return ConfigurationError, "model_not_found", f"Set {model_knob} to a model that this server has"
    if status == 404:
        advice = f"Either the server has no model {model!r} (set {model_knob}) or no such address (set {url})"
        return ConfigurationError, "not_found", advice
    if status == 405 or status < 400:
        return ConfigurationError, f"http_{status}", f"Nothing takes chat completions at this address: check {url}"
    if status in (408, 409, 429) or status >= 500:
        return TransientError, f"http_{status}", ""
    return RejectedError, f"http_{status}", ""


def _detail(error: BaseException) -> str:
    """Return what went wrong on the way, without what aiohttp adds: addresses of objects, the password of a proxy."""
    from aiohttp import ClientConnectorError, ClientHttpProxyError, ClientProxyConnectionError

    if isinstance(error, ClientHttpProxyError):
        return f"its proxy answered HTTP {error.status} {error.message}"
    if not isinstance(error, ClientConnectorError):
        return str(error) or type(error).__name__
    reason = str(error.os_error) or type(error.os_error).__name__
    if isinstance(error, ClientProxyConnectionError):
        return f"its proxy {error.host}:{error.port} cannot be reached: {reason}"
    return reason
