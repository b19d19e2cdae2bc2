"""From settings to the sources of model content, in the order in which they are asked."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from importlib import import_module
from typing import Any, Final

from booster.config import ENDPOINT_VARIABLES, OPENAI_ACCOUNT, Config
from booster.errors import UsageError
from booster.parts import Memory, Purse
from booster.redact import Redactor
from booster.rewarding import REWARD_SECONDS, ProcessReward
from booster.session import Budget, Session
from booster.settings import RewardServer, Settings
from providers.chain import Chain, how_to_configure, rungs
from providers.endpoints import Endpoint, configured_endpoints
from providers.errors import NoProviderError
from providers.openai_compatible import OpenAICompatible
from providers.retry import Prices, RetryPolicy, ask
from providers.types import Ask, Ledger, Provider, Sampler
from verifier.process_reward_http import ProcessRewardServer, RewardModel

REWARD_POLICY: Final = RetryPolicy(attempts=2)
"""An opinion is worth one further attempt, no more: the budget's calls are there for answers."""


class Wiring:
    """The providers of a process; every solve gets its own chain over them."""

    def __init__(self, settings: Settings, redact: Redactor, direct: Sequence[Provider], stack: AsyncExitStack) -> None:
        self.redact = redact
        self.request_timeout = settings.request_timeout
        self._settings = settings
        self._direct = list(direct)
        self._stack = stack
        self._simulated: Provider | None = None
        self._rewards = _reward_server(settings.reward_server)
        if self._rewards is not None:
            stack.push_async_callback(self._rewards.aclose)
        self.prices: Prices = {
            model: (price.input_per_m_tok, price.output_per_m_tok) for model, price in settings.prices.items()
        }

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, redact: Redactor, providers: Sequence[Provider] | None
    ) -> AsyncIterator["Wiring"]:
        """Make the configured providers, or take the given ones, and close them at the end."""
        async with AsyncExitStack() as stack:
            direct = _configured(settings) if providers is None else providers
            for provider in direct:
                stack.push_async_callback(provider.aclose)
            yield cls(settings, redact, direct, stack)

    async def prepare(self) -> None:
        """Load what sends calls, where calls will be sent: a fraction of a second that no solve's time limit should pay."""
        if "providers.transport" not in sys.modules and any(isinstance(one, OpenAICompatible) for one in self._direct):
            await asyncio.to_thread(import_module, "providers.transport")

    async def chain(self, session: Session, ledger: Ledger, sampler: Sampler | None) -> Chain:
        """Return the sources of one solve, in order.

        Raises:
            UsageError: the source that the options insist on is not there.
        """
        direct = await self._direct_for(session.config)
        # Who wants the replies themselves gets them as they were written, but for the secrets of this process.
        clean = self.redact.own if session.problem.verbatim else self.redact
        return Chain(self._rungs(direct, session.config, sampler), ledger, prices=self.prices, clean=clean)

    def reward(
        self, config: Config, ledger: Ledger, purse: Purse, memory: Memory, paid: Callable[[Ask], Ask]
    ) -> ProcessReward | None:
        """Return who scores the paths of one solve; None where nobody is configured, or the options let nobody speak.

        Args:
            config: Options of the solve. A vote alone, or the score alone, hears no opinion.
            ledger: Of its session.
            purse: The same, as the loop sees it.
            memory: Knows what the scorer's opinion counts.
            paid: Wraps whatever asks, as all calls of the solve are.
        """
        server = self._rewards
        if server is None or config.select in ("vote", "score"):
            return None
        sender: Ask = partial(
            ask, provider=server, ledger=ledger, policy=REWARD_POLICY, prices=self.prices, clean=self.redact
        )
        seconds = min(REWARD_SECONDS, self.request_timeout)
        return ProcessReward(paid(sender), server.default_model, purse, memory, seconds=seconds)

    def fallbacks(self, chain: Chain) -> list[str]:
        """Return, in words, why a later source than the configured one had to answer, or why there is none."""
        if not chain.providers:
            cause = chain.last_cause
            return [how_to_configure(cause)]
        return (
            ["a later source answered in place of one that failed; see diagnostics.failures"] if chain.fell_back else []
        )

    def refuse_unusable(self, config: Config, budget: Budget, sampler: Sampler | None) -> None:
        """Refuse options that could only fail after money was spent.

        Raises:
            UsageError: no source of the wanted kind, or a money budget with a model whose price nobody knows.
        """
        every = self._rungs(self._direct, config, sampler) if config.provider != "simulated" else []
        if budget.cost_usd is None:
            return
        rewards = [self._rewards.default_model] if self._rewards and config.select not in ("vote", "score") else []
        for model in [*_asked(config, every), *rewards]:
            if model not in self.prices and model.partition("/")[2] not in self.prices:
                raise UsageError(
                    f"budget.costUsd: the price of the model {model!r} is not known; add it to `prices` in config.json, "
                    f'as {{"{model}": {{"inputPerMTok": USD, "outputPerMTok": USD}}}}',
                    field="budget.costUsd",
                )

    def describe(self) -> list[dict[str, Any]]:
        """Return the configured sources in order, for people; never a key."""
        return [
            {"provider": provider.name, "model": provider.default_model, "url": getattr(provider, "url", "")}
            for provider in self._direct
        ]

    def _rungs(self, direct: Sequence[Provider], config: Config, sampler: Sampler | None) -> list[Provider]:
        try:
            return rungs(direct, sampler, provider=config.provider, use_sampling=config.use_sampling)
        except NoProviderError as error:
            field = "provider" if config.provider else "useSampling"
            raise UsageError(f"{field}: {error}", field=field) from error

    async def _direct_for(self, config: Config) -> Sequence[Provider]:
        if config.provider != "simulated":
            return self._direct
        if self._simulated is None:
            from providers.simulated import SimulatedModel, SimulatedServer

            server = await self._stack.enter_async_context(SimulatedServer(SimulatedModel()))
            place = Endpoint(name="simulated", base_url=server.base_url, model="simulated/large")
            self._simulated = OpenAICompatible(place, concurrency=self._settings.max_concurrency)
            self._stack.push_async_callback(self._simulated.aclose)
        return [self._simulated]


def _asked(config: Config, providers: Sequence[Provider]) -> list[str]:
    """Return every model that a solve may come to ask, in the order in which it would."""
    deep: tuple[str | None, ...] = config.models or (config.strong_model,)
    if config.select == "judge" or (config.select == "auto" and config.judge_model):
        deep = (*deep, config.judge_model or config.strong_model)
    wanted = [*deep, *((config.fast_model,) if config.fast_model else config.models or (None,))]
    named = [model for model in wanted if model]
    # A provider asked in the place of another one, or for no model in particular, takes its own.
    own = [provider.default_model for provider in providers] if None in wanted or len(providers) > 1 else []
    return list(dict.fromkeys([*named, *own]))


def _reward_server(place: RewardServer | None) -> ProcessRewardServer | None:
    if place is None:
        return None
    key = place.key.get_secret_value() if place.key else None
    return ProcessRewardServer(
        RewardModel(
            url=place.url,
            model=place.model,
            form=place.form,
            separator=place.separator,
            positive=place.positive,
            key=key,
        )
    )


def _configured(settings: Settings) -> list[Provider]:
    values: dict[str, str | None] = {}
    for name, (key, model, base_url) in ENDPOINT_VARIABLES.items():
        if found := settings.endpoints.get(name):
            values |= {
                key: found.key.get_secret_value() if found.key else None,
                model: found.model,
                base_url: found.base_url,
            }
            if name == "openai":
                values |= zip(OPENAI_ACCOUNT, (found.organization, found.project), strict=True)
    try:
        endpoints = configured_endpoints(values)
    except ValueError as error:
        raise UsageError(str(error)) from error
    return [OpenAICompatible(endpoint, concurrency=settings.max_concurrency) for endpoint in endpoints]
