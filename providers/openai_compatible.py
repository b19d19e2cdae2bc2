"""One client for every server that speaks OpenAI's chat completions.

One `AsyncOpenAI` an endpoint, made on first use and kept: over aiohttp, with the library's own retries off (they would
not be counted) and the reply taken as plain JSON, which halves the CPU of a call. The few fields that matter are
checked in `providers.reading`, which also catches the failures that come with status 200.
"""

import asyncio
import json
import time
from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from providers.endpoints import Endpoint
from providers.errors import BadReplyError, ConfigurationError, ProviderError, RejectedError, TransientError
from providers.faults import said_by_server, status_error, transport_error
from providers.parameters import CAPS, PARAMETER_REFUSED, refused_parameter, request_body
from providers.reading import error_in, read_reply
from providers.types import Call, Reply

if TYPE_CHECKING:
    import httpx2
    from openai import APIStatusError, AsyncOpenAI

_LONGEST_MESSAGE = 600
"""Characters of an error's text."""

_SHORTEST_SECRET = 8
"""Characters; a shorter key is a placeholder such as `ollama`, and masking it would only garble messages."""


class OpenAICompatible:
    """A `Provider` over HTTP.

    Args:
        endpoint: Where and as whom.
        concurrency: Calls that may be under way at once.
        http_client: Transport to use instead of our own; it is closed with the provider.
    """

    def __init__(
        self, endpoint: Endpoint, *, concurrency: int = 64, http_client: "httpx2.AsyncClient | None" = None
    ) -> None:
        self.name = endpoint.name
        self.default_model = endpoint.model
        self.url = endpoint.url
        self._endpoint = endpoint
        self._concurrency = concurrency
        self.slots: asyncio.Semaphore | None = asyncio.Semaphore(concurrency)
        self._http_client = http_client
        self._client: AsyncOpenAI | None = None
        self._address = ""
        """Known when the client is made."""
        self._refused: defaultdict[str, set[str]] = defaultdict(set)

    def __repr__(self) -> str:
        return f"OpenAICompatible({self._endpoint!r})"

    async def send(self, call: Call) -> Reply:
        """Post the call once.

        A server that refuses a parameter is remembered, and the error (kind `parameter_refused`, `retry_after` 0) says
        that the next attempt will go out without it.

        Raises:
            ProviderError: One of its subclasses. It has neither cause nor context: the vendor's exception holds the
                request with the key.
        """
        outcome = await self._attempt(call, self._endpoint.own_model_id(call.model))
        if isinstance(outcome, ProviderError):
            raise self._presentable(outcome)
        return outcome

    async def aclose(self) -> None:
        """Close the connections."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()
        elif self._http_client is not None:
            await self._http_client.aclose()

    async def _attempt(self, call: Call, model: str) -> Reply | ProviderError:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        from providers.transport import timeouts

        body = request_body(call, model, self._endpoint.profile, self._refused[model])
        try:
            client = self._connected()
            data = await client.post(
                # A whole address: one that is relative is parsed and joined anew for every call.
                self._address,
                body=body,
                cast_to=object,
                options={"timeout": timeouts(call.timeout)},
            )
            return read_reply(data, call, model=model, provider=self.name)
        except APIStatusError as error:
            return self._refusal(error, model, body)
        except APIConnectionError as error:
            return transport_error(error, endpoint=self._endpoint, model=model)
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            return self._located(BadReplyError(f"the reply is broken JSON: {error}", kind="broken_json"), model)
        except UnicodeEncodeError:
            return self._located(RejectedError("the prompt holds half a character", kind="not_unicode"), model)
        except ProviderError as error:
            return self._located(error, model)
        except OpenAIError as error:
            return self._located(BadReplyError(f"{type(error).__name__}: {error}", kind="client"), model)

    def _refusal(self, error: "APIStatusError", model: str, body: Mapping[str, Any]) -> ProviderError:
        """Return the error for a status, after learning what it teaches about parameters."""
        said = _decoded(error.response.text)
        failure = status_error(
            error.status_code, said, error.response.headers, endpoint=self._endpoint, model=model, now=time.time()
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

    def _connected(self) -> "AsyncOpenAI":
        """Return the client, made on first use.

        Raises:
            ConfigurationError: The key or the base URL cannot be used at all.
        """
        if self._client is not None:
            return self._client
        from httpx2 import InvalidURL

        from providers.transport import open_client

        key = self._endpoint.key or "unused"
        if not (key.isascii() and key.isprintable()):
            raise ConfigurationError(f"{self._endpoint.knob('API_KEY')} holds characters that no key has", kind="key")
        try:
            self._client = open_client(
                self._endpoint.base_url, key, concurrency=self._concurrency, http_client=self._http_client
            )
        except InvalidURL as error:
            raise ConfigurationError(f"{self._endpoint.knob('BASE_URL')}: {error}", kind="base_url") from None
        self._address = f"{str(self._client.base_url).rstrip('/')}/chat/completions"
        return self._client

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


def _decoded(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
