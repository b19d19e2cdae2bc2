"""Who proposes, in which order: the first provider that can answer does, and what failed is said.

Above: the loop, which hands `Chain.ask` to whoever needs a model. Below: `providers.retry`, which sends.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from providers.endpoints import ORIGINS, addresses
from providers.errors import CallCancelled, ConfigurationError, NoProviderError, ProviderError, TransientError
from providers.retry import DEFAULT_POLICY, Prices, RetryPolicy, ask
from providers.sampling import SamplingProvider
from providers.types import Call, Ledger, Provider, Reply, Sampler, Ticket

MOST_FAILURES = 50
"""Failures that are kept in full; the rest is counted."""

WITHOUT_MODEL = ("caller", "heuristic")
"""Values of the `provider` setting that ask for a run without any model."""


class Chain:
    """Paid calls over several providers; one chain a session.

    A provider whose configuration is wrong is out for the rest of the run. One that cannot be reached goes to the end of
    the order, so that its dead address does not cost every later call its retries. In both cases the next one answers,
    with its own default model unless the call names a model of it. Any other failure is the call's own.

    Args:
        providers: In the order in which they are asked.
        ledger: Opens and closes a ticket for every attempt.
        policy: See `providers.retry.ask`, as for `prices` and `clean`.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        ledger: Ledger,
        *,
        policy: RetryPolicy = DEFAULT_POLICY,
        prices: Prices | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        self._all = tuple(providers)
        self._order = list(providers)
        self._ledger = _Watched(ledger)
        self._policy, self._prices, self._clean = policy, prices, clean
        self.last_cause: ProviderError | None = None
        """Why the last provider was taken out of the run; None while none was."""
        self.fell_back = False
        """Whether a provider had to answer in the place of another one."""

    @property
    def providers(self) -> tuple[Provider, ...]:
        """Those still in the run, in order."""
        return tuple(self._order)

    @property
    def failures(self) -> list[dict[str, Any]]:
        """The first failed attempts, at most `MOST_FAILURES`: `ProviderError.to_dict`, `stepKey` and `attempt`."""
        return list(self._ledger.failures)

    @property
    def failures_left_out(self) -> int:
        """Failed attempts beyond those that are kept."""
        return self._ledger.left_out

    async def ask(self, call: Call) -> Reply:
        """Return the reply of the first provider that can give one, beginning with the one that `call.model` names.

        Raises:
            NoProviderError: No provider is configured or left; the text says how to configure one.
            ProviderError: The call's own failure, after its retries.
        """
        unreachable: TransientError | None = None
        asked: list[Provider] = []
        while (provider := self._next(call, asked)) is not None:
            try:
                reply = await ask(
                    self._worded_for(provider, call, is_fallback=bool(asked)),
                    provider,
                    self._ledger,
                    policy=self._policy,
                    prices=self._prices,
                    clean=self._clean,
                )
            except ConfigurationError as error:
                self._take_out(provider, error)
            except TransientError as error:
                if error.kind != "connection":
                    raise
                unreachable = error
                self._put_last(provider)
            else:
                self.fell_back = self.fell_back or provider is not _first_named(call, self._all)
                return reply
            asked.append(provider)
        if unreachable is not None:
            raise unreachable
        raise NoProviderError(how_to_configure(self.last_cause), kind="no_provider")

    def _next(self, call: Call, asked: Sequence[Provider]) -> Provider | None:
        return _first_named(call, [provider for provider in self._order if provider not in asked])

    def _worded_for(self, provider: Provider, call: Call, *, is_fallback: bool) -> Call:
        """Return the call without a model id that only another provider understands."""
        if _names(call.model, provider.name):
            return call
        # An alias alone does not make an id foreign: on many servers plain ids begin with "openai/".
        prefix = (call.model or "").partition("/")[0]
        is_foreign = is_fallback or prefix in _ORIGIN_NAMES or any(_names(call.model, p.name) for p in self._all)
        return replace(call, model=None) if is_foreign else call

    def _take_out(self, provider: Provider, cause: ProviderError) -> None:
        self.last_cause = cause
        if provider in self._order:
            self._order.remove(provider)

    def _put_last(self, provider: Provider) -> None:
        if provider in self._order:
            self._order.remove(provider)
            self._order.append(provider)


def rungs(
    direct: Sequence[Provider],
    sampler: Sampler | None = None,
    *,
    provider: str | None = None,
    use_sampling: bool | None = None,
) -> list[Provider]:
    """Return the providers of a run in the order in which they are asked: direct ones, then the client's own model.

    An empty list means a run without a model: proposals of the caller or templates.

    Args:
        direct: Over HTTP, one for each endpoint of `configured_endpoints`, in that order.
        sampler: Given where the MCP client declared that it can sample.
        provider: Name of the only source to use: of a direct provider, `mcp`, `caller` or `heuristic`; None or `auto`
            leaves the choice to the order.
        use_sampling: False = use no model, True = insist on one; a forced `provider` is obeyed first.

    Raises:
        NoProviderError: The forced provider is not there, or a model is insisted on and there is none.
    """
    sampled: list[Provider] = [] if sampler is None else [SamplingProvider(sampler)]
    every = [*direct, *sampled]
    if provider and provider != "auto":
        if provider in WITHOUT_MODEL:
            return []
        forced = [rung for rung in every if addresses(provider, rung.name)]
        if not forced:
            raise NoProviderError(
                f"the provider {provider!r} is asked for: {_what_is_missing(provider)}", kind="forced"
            )
        return forced
    if use_sampling is False:
        return []
    if use_sampling and not every:
        raise NoProviderError(how_to_configure(), kind="no_provider")
    return every


def how_to_configure(last_cause: ProviderError | None = None) -> str:
    """Return one line that says how to get a model, after the reason why the last one was lost."""
    keys = " or ".join(f"{origin.prefix}_API_KEY" for origin in ORIGINS if origin.needs_key)
    local = " or ".join(f"{origin.prefix}_BASE_URL" for origin in ORIGINS if not origin.needs_key)
    advice = f"set {keys}, or {local} for a server of your own, or use an MCP client that can sample"
    if last_cause is None:
        return f"no model is configured: {advice}"
    return f"no model is left: {' '.join(str(last_cause).split())}; mend that, or {advice}"


class _Watched:
    """A ledger that also keeps what failed, for diagnostics."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self.failures: list[dict[str, Any]] = []
        self.left_out = 0

    async def open(self, call: Call) -> Ticket:
        ticket = await self._ledger.open(call)
        if ticket.recalled is not None:
            self._note(ticket, ticket.recalled)
        return ticket

    def close(self, ticket: Ticket, outcome: Reply | ProviderError) -> None:
        self._ledger.close(ticket, outcome)
        self._note(ticket, outcome)

    def _note(self, ticket: Ticket, outcome: Reply | ProviderError) -> None:
        if isinstance(outcome, Reply | CallCancelled):
            return
        if len(self.failures) == MOST_FAILURES:
            self.left_out += 1
        else:
            self.failures.append({**outcome.to_dict(), "stepKey": ticket.call.step_key, "attempt": ticket.attempt})


_ORIGIN_NAMES = frozenset(origin.name for origin in ORIGINS)


def _first_named(call: Call, providers: Sequence[Provider]) -> Provider | None:
    """Return the provider that the call's model names, else the first."""
    named = (provider for provider in providers if _names(call.model, provider.name))
    return next(named, None) or next(iter(providers), None)


def _names(model: str | None, provider: str) -> bool:
    if model is None or "/" not in model:
        return False
    return addresses(model.partition("/")[0], provider)


def _what_is_missing(provider: str) -> str:
    if provider == "mcp":
        return "the MCP client did not declare that it can sample"
    for origin in ORIGINS:
        if addresses(provider, origin.name):
            return f"{origin.prefix}_{'API_KEY' if origin.needs_key else 'BASE_URL'} is not set"
    known = [*(origin.name for origin in ORIGINS), "mcp", *WITHOUT_MODEL]
    return f"there is none of that name; known are {', '.join(known)}"
