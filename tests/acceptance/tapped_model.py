"""A gateway between the booster and the simulated model: counts and remembers what passes, and can strike in between.

The model is asked at temperature 0, which makes it a function of the conversation: two runs of one task are alike, and
a conversation that passes twice was paid twice.
"""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from aiohttp import ClientSession, web

Strike = Callable[[int], None]
"""Called with the number of a request, from 1, when it has arrived and before it is passed on."""


class TappedModel:
    """Passes chat completions on while its context is open.

    Args:
        base_url: Of the model behind it.
        strike: What happens when a request arrives.
        parameters: Set in every request.
    """

    def __init__(
        self, base_url: str, *, strike: Strike | None = None, parameters: Mapping[str, Any] | None = None
    ) -> None:
        self.conversations: list[str] = []
        """A digest of each conversation that arrived, in order."""
        self.base_url = ""
        self._target = f"{base_url}/chat/completions"
        self._strike = strike
        self._parameters = {"temperature": 0} if parameters is None else dict(parameters)
        self._idle = asyncio.Event()
        self._open = 0

    @property
    def requests(self) -> int:
        """How many requests arrived."""
        return len(self.conversations)

    async def idle(self) -> None:
        """Wait until nothing is being answered: what a killed client asked for is also counted behind."""
        if self._open:
            self._idle.clear()
            await self._idle.wait()

    async def __aenter__(self) -> "TappedModel":
        app = web.Application()
        app.router.add_post("/v1/chat/completions", self._pass_on)
        self._client = ClientSession()
        self._runner = web.AppRunner(app, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()
        await self._client.close()

    async def _pass_on(self, request: web.Request) -> web.Response:
        body = {**await request.json(), **self._parameters}
        self.conversations.append(hashlib.sha256(json.dumps(body["messages"]).encode()).hexdigest()[:12])
        self._open += 1
        try:
            if self._strike is not None:
                self._strike(self.requests)
            async with self._client.post(self._target, json=body) as reply:
                content = await reply.read()
                return web.Response(status=reply.status, body=content, content_type=reply.content_type)
        finally:
            self._open -= 1
            if not self._open:
                self._idle.set()
