"""Everything that can go wrong between a call and its reply.

ProviderError
├── ConfigurationError   key, model or base URL is wrong (401, 402, 403, 404, quota): this provider is out for the run
├── RejectedError        this one request was refused (400, 413, 422): its siblings may succeed
├── TransientError       timeout, connection, 408, 409, 429, 5xx: another attempt may succeed
├── BadReplyError        status 200 without a usable reply: HTML, an error body, no choices, broken JSON
├── BudgetSpent          a limit of the budget is reached; nothing was sent
├── CallCancelled        the caller withdrew while the call was in flight
└── NoProviderError      no source of model content is configured or left
"""

from typing import Any, ClassVar


class ProviderError(Exception):
    """Base of all errors of this library. The text is for people: what failed, where, and what to do.

    Args:
        message: One or two sentences; never holds a key.
        kind: Machine-readable reason, for example `timeout`, `http_500`, `html`, `no_choices`, `insufficient_quota`.
        status: HTTP status where there was one.
        endpoint: URL that was tried.
        model: Model id that was asked for.
        provider: Name of the provider.
        retry_after: Seconds the server asked us to wait; None = it did not say.
    """

    registry: ClassVar[dict[str, type["ProviderError"]]] = {}

    def __init_subclass__(cls) -> None:
        ProviderError.registry[cls.__name__] = cls

    def __init__(
        self,
        message: str,
        *,
        kind: str = "error",
        status: int | None = None,
        endpoint: str = "",
        model: str = "",
        provider: str = "",
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.status = status
        self.endpoint = endpoint
        self.model = model
        self.provider = provider
        self.retry_after = retry_after

    def to_dict(self) -> dict[str, Any]:
        """Return a plain form that `from_dict` reads back; it is what the journal keeps and diagnostics show."""
        return {
            "error": type(self).__name__,
            "message": str(self),
            "kind": self.kind,
            "status": self.status,
            "endpoint": self.endpoint,
            "model": self.model,
            "provider": self.provider,
            "retry_after": self.retry_after,
        }

    @staticmethod
    def from_dict(data: dict[str, Any]) -> "ProviderError":
        """Rebuild an error from `to_dict`; an unknown class name becomes a plain ProviderError."""
        cls = ProviderError.registry.get(str(data.get("error")), ProviderError)
        fields: dict[str, Any] = {name: data.get(name) or "" for name in ("kind", "endpoint", "model", "provider")}
        waits = data.get("retry_after")
        return cls(str(data.get("message", "")), status=data.get("status"), retry_after=waits, **fields)


class ConfigurationError(ProviderError):
    """The provider cannot serve this run at all; the text names the setting to mend."""


class RejectedError(ProviderError):
    """The server understood and refused this request."""


class TransientError(ProviderError):
    """The same request may succeed later."""


class BadReplyError(ProviderError):
    """Status 200, but nothing that could be read as a reply."""


class BudgetSpent(ProviderError):
    """A limit is reached. `kind` is `calls`, `tokens`, `seconds` or `costUsd`."""


class CallCancelled(ProviderError):
    """The call was withdrawn in flight; the server may have charged it."""


class NoProviderError(ProviderError):
    """There is no source of model content; the text says how to configure one."""
