"""Drawing whole answers: in waves until the vote is clear, a given number at once, or cheap ones while they agree.

What to draw next is decided by pure rules (`verifier.consensus`, `booster.cascade`); here it is asked and paid for. A solve that
goes on after a stop uses every answer that was paid for before it draws another one. Above: `booster.attempt`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from booster.answer import read_answer
from booster.asking import answer_context, any_of, call_of, candidate_of, key_of, models_of, verified
from booster.cascade import Move, Quote, decide, most_cheap, prices
from booster.cascade_state import CascadeState
from booster.codec import encode
from booster.judging import Judging
from booster.pair import Pair, pair_of, price_of
from booster.parts import Attempt, Parts
from booster.prompts import answer_messages
from booster.search import total
from booster.session import Draw, Opened, Origin, PooledAnswer, Session
from booster.verbatim import Spoken, read_message
from providers.types import Call, Message, Reply, Usage
from verifier.answers import vote_key
from verifier.consensus import enough, next_wave, vote
from verifier.errors import NoCandidatesError
from verifier.types import Candidate

EXPECTED_TOKENS: Final = 500.0
"""Tokens of a call, prompt and reply, that are expected of a model before it has answered once."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Landed:
    """One whole answer, or an abstention, and what it took."""

    answer: PooledAnswer
    candidate: Candidate | None
    """None where no answer could be read."""
    usage: Usage
    states: bool = True
    """It states something that others may state too: there is a vote to be had."""

    @property
    def proven(self) -> bool:
        """It held every check that ran on it, and at least one did."""
        return self.candidate is not None and bool(self.candidate.passed_checks) and not self.candidate.failed_checks


def most_samples(session: Session) -> int:
    """Return how many answers a vote may draw: `samples`, but half of the budget's calls where steps may have to follow."""
    calls, config = session.budget.calls, session.config
    if calls is None or config.granularity != "auto" or session.iterations == 1:
        return config.samples
    return max(1, min(config.samples, calls // 2))


async def draw_answers(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Draw the whole answers of one attempt, by the one rule that system and options choose.

    System 1 asks once, or, where a cheap and a strong model are named, draws cheap answers while they agree; its escalation
    asks the strong model once. System 2 draws waves until the vote is clear; a given `numCandidates`, and selection by
    score or judge, ask for all at once. Whoever gives `numCandidates` wants as many from an escalation, too.
    """
    pair, decision = pair_of(session.config), opened.decision
    if decision.mode == "system1":
        if pair is None or decision.forced:
            return await _side_by_side(session, opened, parts, 1)
        return await _cheap_while_they_agree(session, opened, parts, pair)
    if opened.escalated and pair is not None and not session.at_once:
        return await _strong(session, opened, parts, pair)
    judging = Judging.of(session, opened, parts)
    if session.at_once or session.config.select in ("score", "judge"):
        attempt = await _side_by_side(session, opened, parts, session.config.num_candidates, judging)
    else:
        attempt = await _in_waves(session, opened, parts)
    return attempt if judging is None else await judging.weigh(attempt)


async def sample(session: Session, call: Call, parts: Parts, origin: Origin) -> Landed:
    """Ask for one whole answer; without a candidate where none could be read: an abstention."""
    reply = await parts.ask(call)
    spoken = _read(session, reply)
    if spoken is None:
        nothing = PooledAnswer(
            key=call.step_key, answer=None, origin=origin, source=reply.source, blank=not reply.text.strip(),
            model=reply.model,
        )  # fmt: skip
        return Landed(answer=nothing, candidate=None, usage=reply.usage, states=False)
    unchecked = candidate_of(spoken.proposal, call.step_key, reply, reply.usage)
    candidate = await verified(unchecked, answer_context(session), parts)
    answer = pooled(candidate, origin, cut=spoken.cut)
    return Landed(answer=answer, candidate=candidate, usage=reply.usage, states=spoken.states)


def _read(session: Session, reply: Reply) -> Spoken | None:
    """Return what a reply brings: the message itself where that is wanted, else the answer in it."""
    if session.problem.verbatim:
        return read_message(reply, session.problem.request)
    proposal = read_answer(reply)
    return None if proposal is None else Spoken(proposal=proposal, states=True)


def pooled(candidate: Candidate, origin: Origin, *, cut: bool = False) -> PooledAnswer:
    """Return the candidate's answer to the whole task as it goes into the pool."""
    return PooledAnswer(
        key=candidate.key, answer=candidate.proposal.answer, origin=origin, source=candidate.source,
        checks=candidate.checks, score=total(candidate), cut=cut, model=candidate.model,
    )  # fmt: skip


async def _side_by_side(
    session: Session, opened: Opened, parts: Parts, count: int, judging: "Judging | None" = None
) -> Attempt:
    """Draw a given number at once; the ledger refuses those that the budget does not allow."""

    messages = answer_messages(session.problem)

    async def one(number: int) -> Landed:
        landed = await sample(session, _call(session, opened, parts, messages, number), parts, "sample")
        if judging is not None and session.config.select == "judge" and landed.candidate is not None:
            await judging.score(landed.answer, landed.candidate)
        return landed

    landed, failures = await any_of([one(number) for number in range(1, count + 1)], parts)
    draw = _draw("at_once", landed, cap=count, stopped="" if landed else "failed")
    return _attempt(landed, [error.kind for error in failures], draw)


async def _in_waves(session: Session, opened: Opened, parts: Parts) -> Attempt:
    """Draw until the vote is clear; an answer that held every check ends it too."""
    config, purse, most = session.config, parts.purse, most_samples(session)
    messages = answer_messages(session.problem)
    failing = config.granularity == "auto" and session.iterations > 1  # else nothing but a further answer can help
    landed: list[Landed] = []
    failed: list[str] = []
    started = waves = 0
    stopped = ""
    while not stopped:
        ahead = [n for n in range(started + 1, most + 1) if purse.recorded(_name(opened, n))]
        payable = purse.affordable()
        left = most - started if payable is None else min(most - started, payable + len(ahead))
        cap = len(landed) + left
        size = next_wave(
            *_counts(landed, failing), len(landed), cap, left, wave_size=config.wave_size, lead=config.lead
        ) or (ahead[-1] - started if ahead else 0)  # fmt: skip
        if size == 0:
            stopped = "cap" if left == 0 else "clear"
            break
        jobs = [
            sample(session, _call(session, opened, parts, messages, started + place + 1), parts, "sample")
            for place in range(size)
        ]
        arrived, failures = await any_of(
            jobs, parts, satisfied=partial(_clear, tuple(landed), cap, config.lead, failing)
        )
        landed += arrived
        failed += [error.kind for error in failures]
        started, waves = started + size, waves + 1
        stopped = _ended(landed, arrived)
    draw = _draw("waves", landed, cap=min(cap, most), stopped=stopped, waves=waves, lead=config.lead)
    return _attempt(landed, failed, draw)


async def _cheap_while_they_agree(session: Session, opened: Opened, parts: Parts, pair: Pair) -> Attempt:
    """Draw cheap answers one by one until stopping or escalating is expected to cost less than another one."""
    learnt = parts.memory.state.cascade(pair.key)
    messages = answer_messages(session.problem)
    landed: list[Landed] = []
    failed: list[str] = []
    move: Move | None = None
    while move is None or move.action == "more":
        number = len(landed) + 1
        call = _call(session, opened, parts, messages, number, model=pair.cheap[(number - 1) % len(pair.cheap)])
        arrived, failures = await any_of([sample(session, call, parts, "sample")], parts)
        landed += arrived
        failed += [error.kind for error in failures]
        if not landed:
            break
        move = _move(session, opened, parts, pair, learnt, landed, goes_on=bool(arrived))
    draw = _draw("cascade", landed, cap=most_cheap(len(pair.cheap)), stopped=move.why if move else "failed")
    return _attempt(landed, failed, replace(draw, waves=len(landed), move=_told(pair, move) if move else {}))


def _move(
    session: Session, opened: Opened, parts: Parts, pair: Pair, learnt: CascadeState, landed: Sequence[Landed],
    *, goes_on: bool,
) -> Move:  # fmt: skip
    """Return what to do after the cheap answers so far; calls that a former process has paid for are made again."""
    purse, last = parts.purse, landed[-1]
    payable = purse.affordable()
    ran = last.candidate is not None and (last.candidate.passed_checks or last.candidate.failed_checks)
    strong_key = _name(replace(opened, decision=replace(opened.decision, mode="system2")), 1)
    move = decide(
        [None if one.answer.answer is None else vote_key(one.answer.answer) for one in landed],
        learnt,
        prices(
            _quote(parts, pair.cheap[0], landed),
            _quote(parts, pair.strong, landed, calls=session.config.num_candidates if session.at_once else 1),
        ),
        kmax=most_cheap(len(pair.cheap)),
        check=last.proven if ran else None,
        # The last call that can be paid is kept for the strong model.
        cheap_left=(None if payable is None else max(0, payable - 1)) if goes_on else 0,
        can_escalate=payable is None or payable > 0 or purse.recorded(strong_key),
    )  # fmt: skip
    if move.state is not None and len(move.state) == 1 and purse.recorded(_name(opened, len(landed) + 1)):
        return replace(move, action="more")
    if purse.recorded(strong_key):
        return replace(move, action="escalate", why=move.why if move.action == "escalate" else "audit")
    if move.action == "stop" and move.why == "plan" and (payable is None or payable > 0):
        _, due = learnt.saw_stop(session.config.audit_rate)
        return replace(move, action="escalate", why="audit") if due else move
    return move


async def _strong(session: Session, opened: Opened, parts: Parts, pair: Pair) -> Attempt:
    """Ask the strong model once; its answer stands, and tells what the agreement of the cheap ones was worth."""
    call = _call(session, opened, parts, answer_messages(session.problem), 1, model=pair.strong)
    landed, failures = await any_of([sample(session, call, parts, "strong")], parts)
    return _attempt(landed, [error.kind for error in failures], None)


def _name(opened: Opened, number: int) -> str:
    return key_of(opened, f"answer{number}")


def _call(
    session: Session, opened: Opened, parts: Parts, messages: tuple[Message, ...], number: int,
    *, model: str | None = None,
) -> Call:  # fmt: skip
    models = models_of(session, opened.decision.mode)
    model = model or models[(number - 1) % len(models)]
    return call_of(session, parts, key=_name(opened, number), role="generate", messages=messages, model=model)


def _ended(landed: Sequence[Landed], arrived: Sequence[Landed]) -> str:
    """Return why no wave may follow, whatever the votes say; empty where one may."""
    if any(one.proven for one in arrived):
        return "check"
    if not arrived:
        return "failed"
    if any(one.states for one in landed) or _counts([one for one in landed if not one.answer.cut])[0] > 1:
        return ""
    return "prose" if any(one.candidate is not None for one in landed) else "unreadable"


def _clear(before: Sequence[Landed], cap: int, lead: int, failing: bool, landed: Sequence[Landed]) -> bool:
    """Say whether no further answer is needed: one held every check, or the vote is clear."""
    every = [*before, *landed]
    return landed[-1].proven or enough(*_counts(every, failing), len(every), cap, lead)


def _counts(landed: Sequence[Landed], failing: bool = True) -> tuple[int, int]:
    """Return the votes of leader and runner-up.

    Args:
        landed: Answers and abstentions.
        failing: Whether answers that failed a check vote: where steps may follow, models that agree on a wrong answer have said
            what they can.
    """
    voting = [one for one in landed if failing or one.candidate is None or not one.candidate.failed_checks]
    try:
        verdict = vote([(one.answer.key, one.answer.answer) for one in voting])
    except NoCandidatesError:
        return 0, 0
    return verdict.votes, verdict.runner_up


def _attempt(landed: Sequence[Landed], failed: Sequence[str], draw: Draw | None) -> Attempt:
    return Attempt(
        candidates=tuple(one.candidate for one in landed if one.candidate is not None),
        answers=tuple(one.answer for one in landed),
        failed=tuple(failed),
        draw=draw if landed else None,
    )


def _draw(
    rule: Any, landed: Sequence[Landed], *, cap: int, stopped: str, waves: int = 1, lead: int | None = None
) -> Draw:
    costs = [one.usage.cost_usd for one in landed]
    known = [cost for cost in costs if cost is not None]
    return Draw(
        rule=rule, samples=len(landed), cap=cap, waves=waves, lead=lead, stopped=stopped,
        tokens=sum(one.usage.tokens for one in landed), cost_usd=sum(known) if len(known) == len(costs) else None,
    )  # fmt: skip


def _quote(parts: Parts, model: str, landed: Sequence[Landed], *, calls: int = 1) -> Quote:
    """Return what so many calls are expected to cost: each as many tokens as the cheap answers had, at the model's own price."""
    seen = [one.usage for one in landed if one.usage.tokens]
    prompt = sum(usage.prompt_tokens for usage in seen) / len(seen) if seen else EXPECTED_TOKENS / 2
    reply = sum(usage.completion_tokens for usage in seen) / len(seen) if seen else EXPECTED_TOKENS / 2
    price = price_of(parts.prices, model)
    usd = None if price is None else calls * (prompt * price[0] + reply * price[1]) / 1e6
    return Quote(tokens=calls * (prompt + reply), usd=usd)


def _told(pair: Pair, move: Move) -> dict[str, Any]:
    return {
        "pair": pair.key, "action": move.action, "why": move.why, "p": move.p, "g": move.g,
        "state": None if move.state is None else list(move.state), "prices": encode(move.prices),
    }  # fmt: skip
