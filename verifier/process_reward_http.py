"""A process-reward model over HTTP: one probability a step, from a vLLM server in its pooling or its classification form.

`ProcessRewardServer` is a `Provider`, so that every question goes through `providers.retry` and the ledger like any paid call. Its
calls carry the task as the user's message and each step as one of the assistant; its replies hold the rewards as a JSON list.
`step_rewards` asks, and turns whatever goes wrong into "no reward". What rewards mean stands in `verifier.process_reward`.

The address comes from the settings alone, never from a prompt, a model or a client.
"""

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import urlsplit

from providers.errors import BadReplyError, ConfigurationError, ProviderError, RejectedError, TransientError
from providers.types import Ask, Call, Reply, Usage

if TYPE_CHECKING:
    import httpx2

ROLE: Final = "process_reward"
"""Under which the calls are counted."""

MAX_BODY: Final = 2**20
"""Bytes of a reply; an honest one has under 100 a step."""

MAX_STEPS: Final = 256
"""Steps of one path."""

_SHOWN: Final = 200
"""Characters of a server's complaint that an error repeats."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardModel:
    """One server of process rewards, from the settings."""

    url: str
    """http or https, with or without `/v1`: `http://127.0.0.1:8000`."""
    model: str
    form: Literal["pooling", "classify"] = "pooling"
    """`pooling`: one question a path, a separator after each step, one row a separator (Qwen2.5-Math-PRM and the like).
    `classify`: one text for each beginning of the path, one list of class probabilities a text."""
    separator: str = "<extra_0>"
    """Token after each step, in the form `pooling`; Qwen2.5-Math-PRM's by default."""
    positive: int = 1
    """Place of the class "right" among the classes."""
    key: str | None = field(default=None, repr=False)
    """Bearer token; None = the server wants none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StepRewards:
    """What a process-reward model said of one path."""

    rewards: tuple[float, ...] | None
    """One probability in [0, 1] a step, in order; None = no reward."""
    reason: str = ""
    """Why there is none."""
    model: str = ""


async def step_rewards(
    ask: Ask,
    task: str,
    steps: Sequence[str],
    *,
    step_key: str,
    model: str | None = None,
    seconds: float = 30.0,
    deadline: float | None = None,
) -> StepRewards:
    """Ask for the rewards of a path; never raises for what a server does.

    Args:
        ask: Paid calls to a `ProcessRewardServer`.
        task: The problem.
        steps: The path, oldest step first. Without steps nothing is asked.
        step_key: Names the call in the journal.
        model: Id to ask for; None = the server's.
        seconds: For one attempt.
        deadline: On the event loop's clock.
    """
    if not steps or len(steps) > MAX_STEPS:
        return StepRewards(rewards=None, reason=f"a path of {len(steps)} steps is not asked about")
    messages = ({"role": "user", "content": task}, *({"role": "assistant", "content": step} for step in steps))
    call = Call(
        role=ROLE, step_key=step_key, messages=messages, model=model, max_tokens=1, timeout=seconds, deadline=deadline
    )
    try:
        reply = await ask(call)
        return StepRewards(rewards=_checked(json.loads(reply.text), len(steps)), model=reply.model)
    except (ProviderError, ValueError) as error:
        return StepRewards(rewards=None, reason=f"no reward: {error}")


class ProcessRewardServer:
    """Fulfils `providers.types.Provider` for one reward model; belongs to one event loop."""

    name = "process-reward"

    def __init__(self, place: RewardModel, *, concurrency: int = 8) -> None:
        self.default_model = place.model
        self.url = f"{place.url.rstrip('/').removesuffix('/v1')}/{place.form}"
        self._place = place
        self.slots: asyncio.Semaphore | None = asyncio.Semaphore(concurrency)
        self._client: httpx2.AsyncClient | None = None

    async def send(self, call: Call) -> Reply:
        """Post the path once; the text of the reply is the JSON list of its rewards.

        Raises:
            ProviderError: One of its subclasses, without the key.
        """
        task, *steps = [str(message["content"]) for message in call.messages]
        model = call.model or self.default_model
        try:
            data = await self._post(self._body(task, steps, model), call.timeout)
            rewards = _rewards(data, self._place, len(steps))
        except ProviderError as error:
            error.endpoint, error.model, error.provider = self.url, model, self.name
            raise
        return Reply(
            text=json.dumps(rewards),
            model=str(data.get("model") or model),
            provider=self.name,
            source="model",
            usage=_usage(data.get("usage"), sum(map(len, (task, *steps)))),
        )

    async def aclose(self) -> None:
        """Close the connections; idempotent."""
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    def _body(self, task: str, steps: Sequence[str], model: str) -> dict[str, Any]:
        if self._place.form == "classify":
            beginnings = ["\n".join(steps[: end + 1]) for end in range(len(steps))]
            return {"model": model, "input": [f"{task}\n\n{beginning}" for beginning in beginnings]}
        # A separator of a step's own would be taken for the end of one more step.
        mark = self._place.separator
        path = "".join(f"{step.replace(mark, ' ')}{mark}" for step in steps)
        return {
            "model": model,
            "messages": [{"role": "user", "content": task.replace(mark, " ")}, {"role": "assistant", "content": path}],
        }

    async def _post(self, body: Mapping[str, Any], seconds: float) -> Mapping[str, Any]:
        import httpx2

        try:
            client = self._connected()
            async with client.stream("POST", self.url, json=body, timeout=seconds) as response:
                content = await _bounded(response)
                if response.status_code != 200:
                    raise self._refusal(response.status_code, content)
        except httpx2.TimeoutException:
            raise TransientError(f"{self.url} did not answer within {seconds:g} seconds", kind="timeout") from None
        except httpx2.TransportError as error:
            raise TransientError(f"{self.url}: {type(error).__name__}: {error}", kind="connection") from None
        except (httpx2.InvalidURL, UnicodeEncodeError) as error:
            raise ConfigurationError(f"{self.url} cannot be asked: {type(error).__name__}", kind="url") from None
        try:
            data = json.loads(content)
        except (ValueError, RecursionError):
            raise BadReplyError(f"{self.url} sent no JSON", kind="broken_json") from None
        if not isinstance(data, dict):
            raise BadReplyError(f"{self.url} sent no JSON object", kind="no_rewards")
        return data

    def _connected(self) -> "httpx2.AsyncClient":
        if self._client is None:
            import httpx2

            if urlsplit(self.url).scheme not in ("http", "https"):
                raise ConfigurationError("the address of a reward model begins with http:// or https://", kind="url")
            headers = {"authorization": f"Bearer {self._place.key}"} if self._place.key else {}
            # Nothing from the environment: no proxy and no password file may learn of it.
            self._client = httpx2.AsyncClient(headers=headers, follow_redirects=False, trust_env=False)
        return self._client

    def _refusal(self, status: int, content: bytes) -> ProviderError:
        said = content.decode(errors="replace")
        if self._place.key:
            said = said.replace(self._place.key, "***")
        message = f"{self.url} answered {status}: {' '.join(said.split())[:_SHOWN]}"
        kind = f"http_{status}"
        if status in (408, 409, 425, 429) or status >= 500:
            return TransientError(message, kind=kind, status=status)
        if status in (400, 413, 422):
            return RejectedError(message, kind=kind, status=status)
        return ConfigurationError(message, kind=kind, status=status)


async def _bounded(response: "httpx2.Response") -> bytes:
    content = bytearray()
    async for chunk in response.aiter_bytes():
        content += chunk
        if len(content) > MAX_BODY:
            raise BadReplyError(f"the reply is longer than {MAX_BODY} bytes", kind="too_large")
    return bytes(content)


def _rewards(data: Mapping[str, Any], place: RewardModel, steps: int) -> tuple[float, ...]:
    """Return the rewards in a reply of either form.

    Raises:
        BadReplyError: They are not there, are not as many as there are steps, or are no probabilities.
    """
    try:
        items = sorted(data["data"], key=lambda item: item["index"])
        rows = [item["probs"] for item in items] if place.form == "classify" else items[0]["data"]
        return _checked([_of_class(row, place.positive) for row in rows], steps)
    except (LookupError, TypeError, ValueError) as error:
        raise BadReplyError(f"the reply holds no rewards of {steps} steps: {error!r:.100}", kind="no_rewards") from None


def _of_class(row: Any, positive: int) -> Any:
    """Return the probability of the class "right"; a model with one class says it alone."""
    if isinstance(row, list):
        return row[0] if len(row) == 1 else row[positive]
    return row


def _checked(rewards: Any, steps: int) -> tuple[float, ...]:
    if not isinstance(rewards, list) or len(rewards) != steps:
        raise ValueError(f"{len(rewards) if isinstance(rewards, list) else 'no'} rewards for {steps} steps")
    for reward in rewards:
        if isinstance(reward, bool) or not isinstance(reward, (int, float)) or not math.isfinite(reward):
            raise ValueError(f"{reward!r:.40} is no number")
        if not 0 <= reward <= 1:
            raise ValueError(f"{reward!r:.40} is no probability")
    return tuple(float(reward) for reward in rewards)


def _usage(reported: Any, characters: int) -> Usage:
    tokens = reported.get("prompt_tokens") if isinstance(reported, dict) else None
    if isinstance(tokens, int) and tokens >= 0:
        return Usage(prompt_tokens=tokens)
    return Usage(prompt_tokens=math.ceil(characters / 4), estimated=True)
