"""The OpenAI-compatible door: `POST /v1/chat/completions`, `GET /v1/models`, `GET /v1/models/{id}`.

A client that only changes its base URL gets what it would have got, chosen among several: its messages and parameters reach the
model as they are, and what comes back is a message that a model wrote. A client that leaves takes its solve with it.
Above: `booster.server.http`. Below: `openai_request` reads, `openai_wire` and `openai_errors` answer, `openai_stream` sends.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from booster.app import Booster
from booster.journal import Event
from booster.result import SolveResult
from booster.server.openai_errors import Refusal, broken, json_response, no_such_model, refused_start, unanswered
from booster.server.openai_models import Served, served_models
from booster.server.openai_request import Asked, read_request
from booster.server.openai_stream import EventStream, left
from booster.server.openai_wire import (
    DONE,
    answer_chunks,
    comment_frame,
    completion,
    data_frame,
    first_chunk,
    progress_chunk,
    progress_line,
)

HEARTBEAT: Final = 10.0
"""Seconds of silence in a stream after which a comment is sent, so that no proxy takes the connection for dead."""

CLIENT_LEFT: Final = 499
"""Status in the log of a request whose client did not wait for the answer; nobody reads it."""


def routes(booster: Booster, *, heartbeat: float = HEARTBEAT) -> list[BaseRoute]:
    """Return the routes of the door.

    Args:
        booster: Open, and outliving the routes.
        heartbeat: Seconds between two signs of life in a stream.
    """
    door = _Door(booster, heartbeat)
    return [
        Route("/v1/chat/completions", door.chat, methods=["POST"]),
        Route("/v1/models", door.models, methods=["GET"]),
        Route("/v1/models/{model:path}", door.model, methods=["GET"]),
    ]


@dataclass(slots=True)
class _Solve:
    """One solve for one request."""

    booster: Booster
    asked: Asked
    created: int
    """Seconds since 1970."""
    events: "asyncio.Queue[Event | None]" = field(default_factory=asyncio.Queue)
    """What happens to it; None once it has ended."""
    session_id: str = ""
    ending: "asyncio.Task[SolveResult]" = field(init=False)

    async def start(self) -> None:
        """Begin; what is wrong with the options is raised before anything is paid."""
        self.session_id = await self.booster.begin(
            self.asked.task, listener=self.events.put_nowait, **self.asked.options()
        )
        self.ending = asyncio.create_task(self.booster.wait(self.session_id))
        self.ending.add_done_callback(lambda _: self.events.put_nowait(None))

    async def stop(self) -> None:
        """End it, unless it has ended; when this returns nothing of it costs anything any more."""
        if not self.ending.done():
            await self.booster.cancel(self.session_id)
        await asyncio.gather(self.ending, return_exceptions=True)

    def outcome(self) -> SolveResult | Refusal:
        """Return the result with an answer, or why there is none; only once it has ended."""
        error = self.ending.exception()
        if error is not None:
            if not isinstance(error, Exception):
                raise error
            return broken(error)
        result = self.ending.result()
        is_answer = result.answer is not None and result.status in ("done", "failed")
        return result if is_answer else unanswered(result, self.asked.budget, self.booster.advice())


class _Door:
    """The endpoints; what belongs to a request lives in its `_Solve`."""

    def __init__(self, booster: Booster, heartbeat: float) -> None:
        self._booster = booster
        self._heartbeat = heartbeat

    async def chat(self, request: Request) -> Response:
        """Answer a conversation."""
        raw = await request.body()
        try:
            asked = read_request(raw, self._booster.settings.config, self._served())
            solve = _Solve(self._booster, asked, int(time.time()))
            await solve.start()
        except Exception as error:
            return refused_start(error).response()
        if asked.stream:
            return EventStream(self._frames(solve), solve.stop)
        leaving = asyncio.create_task(left(request.receive))
        try:
            await asyncio.wait({solve.ending, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not solve.ending.done():
                return Response(status_code=CLIENT_LEFT)
        finally:
            leaving.cancel()
            await solve.stop()
        outcome = solve.outcome()
        if isinstance(outcome, Refusal):
            return outcome.response()
        return json_response(completion(asked, outcome, solve.created))

    async def models(self, _: Request) -> Response:
        """List the models."""
        return json_response({"object": "list", "data": [served.document() for served in self._served().values()]})

    async def model(self, request: Request) -> Response:
        """Describe one model."""
        name, served = request.path_params["model"], self._served()
        if name not in served:
            return no_such_model(name, ", ".join(served)).response()
        return json_response(served[name].document())

    def _served(self) -> Mapping[str, Served]:
        return served_models(self._booster.describe_sources(), self._booster.settings.config)

    async def _frames(self, solve: _Solve) -> AsyncGenerator[str, None]:
        """Yield the events of a stream, and a comment whenever nothing has happened for a while."""
        asked, session_id, created = solve.asked, solve.session_id, solve.created
        yield data_frame(first_chunk(asked, session_id, created))
        while True:
            try:
                event = await asyncio.wait_for(solve.events.get(), self._heartbeat)
            except TimeoutError:
                yield comment_frame("working")
                continue
            if event is None:
                break
            if line := progress_line(event):
                chunk = progress_chunk(asked, session_id, created, line)
                yield data_frame(chunk) if asked.progress else comment_frame(line)
        outcome = solve.outcome()
        if isinstance(outcome, Refusal):
            yield data_frame(outcome.document())
            return
        for chunk in answer_chunks(asked, outcome, created):
            yield data_frame(chunk)
        yield DONE
