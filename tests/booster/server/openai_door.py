"""The OpenAI-compatible door on a real port, over a fake model's server: what its tests share."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
from openai import AsyncOpenAI
from starlette.applications import Starlette

from booster.app import Booster
from booster.config import Config
from booster.server.openai_api import routes
from booster.settings import Settings
from providers.endpoints import Endpoint
from providers.openai_compatible import OpenAICompatible
from tests.fake_openai import Answer, FakeOpenAI, Handler, completion

QUESTION: Any = [{"role": "user", "content": "What is 6 times 7?"}]


@dataclass(frozen=True, kw_only=True)
class Door:
    """A running door, OpenAI's own client for it, and the model behind it."""

    client: AsyncOpenAI
    url: str
    """Ends with `/v1`."""
    booster: Booster
    model: FakeOpenAI

    async def ask(self, messages: Any = None, *, model: str = "booster", booster: Any = None, **options: Any) -> Any:
        """Ask for a completion; `booster` is the object of that name in the body."""
        if booster is not None:
            options["extra_body"] = {"booster": booster}
        create: Any = self.client.chat.completions.create
        return await create(model=model, messages=messages or QUESTION, **options)

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """What the model was sent, in the order of arrival."""
        return [seen.body for seen in self.model.seen]


@asynccontextmanager
async def a_door(
    answers: Handler | Sequence[Answer],
    *,
    config: Mapping[str, Any] | None = None,
    model: str = "m",
    providers: Callable[[FakeOpenAI], Sequence[Any]] | None = None,
    heartbeat: float = 10.0,
    **settings: Any,
) -> AsyncIterator[Door]:
    """Serve the door on a free port until the block ends.

    Args:
        answers: Of the model, as `FakeOpenAI` takes them.
        config: Options of every solve.
        model: Its id.
        providers: Makes the endpoints, in place of the one called `local`.
        heartbeat: Of streams, in seconds.
        settings: Further ones of the process.
    """
    effective = Settings(home=Path("unused"), journal_url="memory:", config=Config.parse(config or {})[0], **settings)
    async with FakeOpenAI(answers if callable(answers) else list(answers)) as fake:
        sources = providers(fake) if providers else [local(fake, model)]
        async with Booster.open(effective, providers=sources) as booster:
            app = Starlette(routes=routes(booster, heartbeat=heartbeat))
            async with (
                serving(app) as origin,
                AsyncOpenAI(base_url=f"{origin}/v1", api_key="k", max_retries=0) as client,
            ):
                yield Door(client=client, url=f"{origin}/v1", booster=booster, model=fake)


def local(fake: FakeOpenAI, model: str = "m", name: str = "local") -> OpenAICompatible:
    """Return an endpoint at a fake server."""
    return OpenAICompatible(Endpoint(name=name, base_url=fake.base_url, model=model))


@asynccontextmanager
async def serving(app: Starlette) -> AsyncIterator[str]:
    """Run an application on a free port; yield its origin."""
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off", ws="none")
    )
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        await running


def said(text: str = "The product is 42.\n\nFinal answer: 42", **message: Any) -> Answer:
    """A model's message of ten tokens."""
    return completion(text, **message)


def called(name: str, arguments: Mapping[str, Any] | str, call_id: str = "call_1") -> dict[str, Any]:
    """One tool call in the wire format."""
    written = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": written}}


def calls(*tool_calls: Mapping[str, Any], content: str | None = None) -> Answer:
    """A model's message that calls tools."""
    return completion(content, finish_reason="tool_calls", tool_calls=list(tool_calls))


async def until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; a test's own limit ends what never does."""
    while not holds():
        await asyncio.sleep(0.005)
