"""One client for every server that speaks OpenAI's chat completions.

It posts JSON over aiohttp connections that are made on first use and kept. The few fields that matter are checked in
`providers.reading`, which also catches the failures that come with status 200.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from providers.endpoints import Endpoint
from providers.errors import ProviderError, RejectedError, TransientError
from providers.faults import said_by_server, status_error, transport_error
from providers.parameters import CAPS, PARAMETER_REFUSED, encoded, refused_parameter, request_body
from providers.reading import decoded, error_in, read_reply, text_or_json
from providers.types import Call, Reply

if TYPE_CHECKING:
    from providers.transport import Connections, Response

_LONGEST_MESSAGE = 600
"""Characters of an error's text."""

_SHORTEST_SECRET = 8
"""Characters; a shorter key is a placeholder such as `ollama`, and masking it would only garble messages."""


class OpenAICompatible:
    """A `Provider` over HTTP.

    Args:
        endpoint: Where and as whom.
        concurrency: Calls that may be under way at once.
    """

    def __init__(self, endpoint: Endpoint, *, concurrency: int = 64) -> None:
        self.name = endpoint.name
        self.default_model = endpoint.model
        self.url = endpoint.url
        self._endpoint = endpoint
        self._concurrency = concurrency
        self.slots: asyncio.Semaphore | None = asyncio.Semaphore(concurrency)
        self._connections: Connections | None = None
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._endpoint!r})"

    async def send(self, call: Call) -> Reply:
        """Post the call once.

        A server that refuses a parameter is remembered, and the error (kind `parameter_refused`, `retry_after` 0) says
        that the next attempt will go out without it.

        Raises:
            ProviderError: One of its subclasses. It has neither cause nor context: aiohttp's exceptions hold the
                request with the key.
        """
        outcome = await self._attempt(call, self._endpoint.own_model_id(call.model))
        if isinstance(outcome, ProviderError):
            raise self._presentable(outcome)
        return outcome

    async def aclose(self) -> None:
        """Close the connections."""
        connections, self._connections = self._connections, None
        if connections is not None:
            await connections.aclose()

    async def _attempt(self, call: Call, model: str) -> Reply | ProviderError:
        body = request_body(call, model, self._endpoint.profile, self._refused[model])
        try:
            response = await self._posted(encoded(body), call.timeout, model)
            if not 200 <= response.status < 300:
                return self._refusal(response, model, body)
            data = decoded(response.content, response.content_type, response.charset)
            return read_reply(data, call, model=model, provider=self.name)
        except ProviderError as error:
            return self._located(error, model)

    async def _posted(self, body: bytes, seconds: float, model: str) -> "Response":
        connections = self._connected()
        try:
            return await connections.post(body, seconds)
        except ProviderError:
            raise
        except Exception as error:
            raise transport_error(error, endpoint=self._endpoint, model=model) from None

    def _refusal(self, response: "Response", model: str, body: Mapping[str, Any]) -> ProviderError:
        """Return the error for a status, after learning what it teaches about parameters."""
        said = text_or_json(response.content, response.charset)
        failure = status_error(
            response.status, said, response.headers, endpoint=self._endpoint, model=model, now=time.time()
        )
        if not isinstance(failure, RejectedError) or failure.status not in (400, 422):
            return failure
        message, codes = said_by_server(said)
        param = (error_in(said) or {}).get("param")
        name = refused_parameter(
            body, param=param if isinstance(param, str) else None, message=message, code=" ".join(codes)
        )
        if name is None:
            return failure
        self._refused[model].add(name)
        if self._refused[model].issuperset(CAPS):
            return failure
        again = TransientError(
            f"the next attempt goes without {name!r}: {failure}",
            kind=PARAMETER_REFUSED,
            status=failure.status,
            retry_after=0.0,
        )
        return self._located(again, model)

    def _connected(self) -> "Connections":
        """Return the connections, made on first use.

        Raises:
            ConfigurationError: Nothing can be sent with these settings.
        """
        if self._connections is None:
            from providers.transport import Connections

            self._connections = Connections(self._endpoint, concurrency=self._concurrency)
        return self._connections

    def _located(self, error: ProviderError, model: str) -> ProviderError:
        """Return the error with where and of whom it was asked."""
        error.endpoint, error.model, error.provider = self.url, model, self.name
        if self.url not in str(error):
            error.args = (f"{self.name} at {self.url}: {error}",)
        return error

    def _presentable(self, error: ProviderError) -> ProviderError:
        """Return the error with the key masked in its text, cut off from the exceptions that hold it elsewhere."""
        error.__cause__ = error.__context__ = None
        text, key = str(error), self._endpoint.key
        if key and len(key) >= _SHORTEST_SECRET:
            text = text.replace(key, "***")  # before the text is cut, for half a key is a secret too
        error.args = (text if len(text) <= _LONGEST_MESSAGE else f"{text[:_LONGEST_MESSAGE]}…",)
        return error
