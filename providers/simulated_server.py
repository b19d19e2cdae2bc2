"""The simulated model over real HTTP on the loopback interface, in the OpenAI wire format.

`POST /v1/chat/completions` (plain and streamed), `GET /v1/models`, `GET /control/count`. Everything that happens after a
request is read is decided by pure code; this module only waits, counts and sends. Above: `providers.simulated`. Below:
`simulated_wire`, `simulated_reply`, `simulated_reading`, `simulated_model`, `simulated_faults`.
"""

import asyncio
import json
import time
from collections import Counter, deque
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from aiohttp import web

from providers import simulated_wire as wire
from providers.simulated_faults import Fault, canned, marred
from providers.simulated_model import PRICES, SimulatedModel
from providers.simulated_reading import Question, TaskBank, read
from providers.simulated_reply import write
from providers.types import SIMULATED_PREFIX

MAX_BODY = 16 * 2**20
"""Largest request in bytes."""

GRACE = 1.0
"""Seconds that requests in flight get to end when the server closes; those that hang are cut at once."""

LOG_SIZE = 1000
"""Request bodies that the log keeps."""


class SimulatedServer:
    """One simulated model behind one port; an async context manager.

    Args:
        model: The knobs.
        host: Interface to listen on.
        port: Port to listen on; 0 = any that is free.
    """

    def __init__(self, model: SimulatedModel | None = None, *, host: str = "127.0.0.1", port: int = 0) -> None:
        self.model = model if model is not None else SimulatedModel()
        self.requests = 0
        """Completions asked for since the start, failed ones included."""
        self.in_flight = 0
        """Requests that are being answered."""
        self.max_in_flight = 0
        """Most requests that were ever being answered at once."""
        self._bank = TaskBank(self.model.tasks)
        self._host, self._port = host, port
        self._log: deque[dict[str, Any]] = deque(maxlen=LOG_SIZE)
        self._answered: Counter[tuple[str, str]] = Counter()
        self._counted: Counter[int] = Counter()
        self._closing = asyncio.Event()
        self._runner: web.AppRunner | None = None

    @property
    def base_url(self) -> str:
        """URL that an OpenAI client takes: `http://127.0.0.1:PORT/v1`; known while the server runs."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/v1"

    @property
    def log(self) -> list[dict[str, Any]]:
        """Bodies of the last 1,000 requests for a completion, oldest first."""
        return list(self._log)

    async def start(self) -> None:
        """Listen.

        Raises:
            OSError: the port is taken.
        """
        application = web.Application(client_max_size=MAX_BODY)
        application.router.add_post("/v1/chat/completions", self._complete)
        application.router.add_get("/v1/models", self._models)
        application.router.add_get("/control/count", self._count)
        # A client that gives up ends its handler, so that `in_flight` is the truth.
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=GRACE, handler_cancellation=True)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self._port, backlog=1024)
        try:
            await site.start()
        except OSError:
            await self.aclose()
            raise
        self._port = site.port

    async def aclose(self) -> None:
        """Let requests in flight end, at most a second, and close the port; idempotent."""
        self._closing.set()
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def _count(self, request: web.Request) -> web.Response:
        return _json(
            {
                "requests": self.requests,
                "in_flight": self.in_flight,
                "max_in_flight": self.max_in_flight,
                "simulated": True,
            }
        )

    async def _models(self, request: web.Request) -> web.Response:
        data = [
            {
                "id": model_id,
                "object": "model",
                "created": 0,
                "owned_by": "simulated",
                "pricing": {"prompt": str(prompt / 1e6), "completion": str(completion / 1e6)},
            }
            for model_id, (prompt, completion) in PRICES.items()
        ]
        return _json({"object": "list", "data": data})

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        try:
            body = wire.request_body(await request.read())
            self._log.append(body)
            return await self._reply(request, body, self.requests)
        except wire.BadBody as problem:
            return _refused(400, str(problem))
        finally:
            self.in_flight -= 1

    async def _reply(self, request: web.Request, body: dict[str, Any], number: int) -> web.StreamResponse:
        if not body["model"].startswith(SIMULATED_PREFIX):
            return _refused(404, f"there is no model {body['model']!r}", code="model_not_found", param="model")
        question = read(body["messages"], self._bank)
        fault = self._due(question, body)
        if fault is not None and fault.kind in ("hang", "drop"):
            return await self._cut_off(request, hang=fault.kind == "hang")
        await self._take_time(number)
        if fault is not None and (failure := canned(fault)) is not None:
            return web.Response(
                status=failure.status, body=failure.body, content_type=failure.content_type, headers=failure.headers
            )
        if self.model.n == "rejected" and wire.choices_wanted(body) > 1:
            return _refused(400, "n must be 1", code="unsupported_value", param="n")
        answer = marred(fault, number, int(time.time()), body) if fault is not None else None
        if answer is None:
            answer = self._answer(question, body, number)
        if body.get("stream"):
            return await _send_stream(request, answer, body)
        if fault is not None and fault.kind == "slow_body":
            return await _send_slowly(request, json.dumps(answer).encode(), fault.seconds)
        return _json(answer)

    def _due(self, question: Question, body: Mapping[str, Any]) -> Fault | None:
        """Return the first fault that hits this request, after every fault has counted it."""
        due = None
        for position, fault in enumerate(self.model.faults):
            if fault.counts(question.wanted, body):
                number = self._counted[position]
                self._counted[position] += 1
                if due is None and fault.hits(number, self.model.draw("fault", position, number)):
                    due = fault
        return due

    async def _take_time(self, number: int) -> None:
        seconds = self.model.latency
        if self.model.jitter:
            seconds += self.model.jitter * self.model.draw("jitter", number).random()
        if seconds:
            await asyncio.sleep(seconds)

    def _answer(self, question: Question, body: Mapping[str, Any], number: int) -> dict[str, Any]:
        """Return the completion; each of its choices counts as one more answer to this conversation."""
        limit, asked = wire.token_limit(body), (body["model"], question.digest)
        choices: list[dict[str, Any]] = []
        spent = thought = 0
        for index in range(wire.choices_wanted(body) if self.model.n == "ok" else 1):
            repeat = 0 if body.get("temperature") == 0 else self._answered[asked]
            self._answered[asked] += 1
            written = write(self.model, body["model"], question, self.model.draw(*asked, repeat))
            written, finish_reason = wire.cut(written, limit)
            choices.append(wire.choice(index, written.content, finish_reason))
            spent += wire.tokens(len(written.content))
            thought += wire.tokens(len(written.thinking))
        used = wire.usage(wire.tokens(wire.prompt_chars(body)), spent, thought) if self.model.usage else None
        return wire.completion(number, int(time.time()), body["model"], choices, used)

    async def _cut_off(self, request: web.Request, *, hang: bool) -> web.StreamResponse:
        """Break the connection without a reply: at once, or not before the client leaves or the server closes."""
        if hang:
            await self._closing.wait()
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=503)


async def _send_stream(request: web.Request, answer: Mapping[str, Any], body: Mapping[str, Any]) -> web.StreamResponse:
    options = body.get("stream_options")
    include_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
    await response.prepare(request)
    for event in wire.stream(answer, include_usage=include_usage):
        await response.write(event)
    return response


async def _send_slowly(request: web.Request, payload: bytes, seconds: float) -> web.StreamResponse:
    """Send half of the body, wait, and send the rest."""
    half = len(payload) // 2
    response = web.StreamResponse(headers={"Content-Type": "application/json", "Content-Length": str(len(payload))})
    await response.prepare(request)
    await response.write(payload[:half])
    await asyncio.sleep(seconds)
    await response.write(payload[half:])
    return response


def _json(data: Mapping[str, Any], status: int = 200) -> web.Response:
    return web.Response(body=json.dumps(data).encode(), status=status, content_type="application/json")


def _refused(status: int, message: str, *, code: str | None = None, param: str | None = None) -> web.Response:
    return _json(wire.error(message, type="invalid_request_error", code=code, param=param), status)
