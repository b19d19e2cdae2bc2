"""A real HTTP server on 127.0.0.1 that speaks chat completions as badly as a test wants it to."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from aiohttp import web


@dataclass(frozen=True, kw_only=True)
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    """Names in lower case."""
    body: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One response; as plain as HTTP allows."""

    status: int = 200
    body: str = ""
    content_type: str = "application/json"
    headers: dict[str, str] = field(default_factory=dict)
    hangs: bool = False
    """Never answers, until the client goes away or the server stops."""
    breaks_off: bool = False
    """Closes the connection without an answer."""
    endless: bool = False
    """Sends body after body without an end."""


Handler = Callable[[Seen], Answer]


def completion(text: object = "fine", *, finish_reason: str = "stop", model: str = "m", **message: object) -> Answer:
    """A well-formed completion; keywords are further fields of the message."""
    choice = {"index": 0, "finish_reason": finish_reason, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return data({"id": "c1", "object": "chat.completion", "model": model, "choices": [choice], "usage": usage})


def data(body: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Answer:
    """Any JSON."""
    return Answer(status=status, body=json.dumps(body), headers=headers or {})


def refusal(status: int, message: str = "no", *, headers: dict[str, str] | None = None, **error: object) -> Answer:
    """An error in OpenAI's form."""
    return data({"error": {"message": message, **error}}, status=status, headers=headers)


HANG = Answer(hangs=True)
BREAK_OFF = Answer(breaks_off=True)
HTML = Answer(body="<!doctype html><title>Sign in</title>", content_type="text/html")


class FakeOpenAI:
    """Serves `/v1/chat/completions` while its context is open.

    Args:
        answers: A handler; or answers in turn, of which the last one is repeated.
    """

    def __init__(self, answers: Handler | list[Answer]) -> None:
        self.seen: list[Seen] = []
        self.base_url = ""
        self.most_at_once = 0
        self._at_once = 0
        self._answer = answers if callable(answers) else self._in_turn(answers)
        self._stopped = asyncio.Event()

    async def __aenter__(self) -> "FakeOpenAI":
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.origin = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.base_url = f"{self.origin}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopped.set()
        await self._runner.cleanup()

    def _in_turn(self, answers: list[Answer]) -> Handler:
        return lambda _: answers[min(len(self.seen), len(answers)) - 1]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.seen.append(Seen(path=request.path, headers=headers, body=await request.json()))
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            return await self._respond(request, self._answer(self.seen[-1]))
        finally:
            self._at_once -= 1

    async def _respond(self, request: web.Request, answer: Answer) -> web.StreamResponse:
        if answer.hangs:
            await self._stopped.wait()
        if answer.breaks_off and request.transport is not None:
            request.transport.close()
        if answer.endless:
            stream = web.StreamResponse(headers={"content-type": "application/json"})
            await stream.prepare(request)
            while not self._stopped.is_set():
                await stream.write(b" " * 65536)
            return stream
        return web.Response(
            status=answer.status, text=answer.body, content_type=answer.content_type, headers=answer.headers
        )
