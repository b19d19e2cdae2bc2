"""Answers that are programs: drawn in rounds together with tests that models write, chosen by what they do on all of them.

Programs that pass the same tests are one behaviour; which one wins, and when to stop, is decided by `verifier.behaviour`. Generated
tests are noisy, so an answer that is chosen by them is never verified; a program that fails a check of the user is out before
they are asked, and one that holds every check ends the drawing.
Above: `booster.attempt`. Below: `booster.drawing` asks for answers; running the tests is a port of `booster.parts`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from booster.asking import any_of, call_of, key_of, models_of
from booster.drawing import Landed, sample
from booster.parts import Attempt, Parts, RunTests
from booster.prompts import answer_messages, test_messages
from booster.session import Draw, Opened, Session
from providers.parsing import parse_proposals
from providers.types import Call
from verifier.behaviour import best_behaviour, settled, winning_behaviour
from verifier.tuned import MOST_PROGRAMS, ROUND

SHOWN: Final = 10
"""Behaviours that the evidence lists."""


@dataclass(kw_only=True, slots=True)
class Matrix:
    """Which program passes which test; each pair is run once."""

    run: RunTests
    tests: list[str] = field(default_factory=list)
    passed: dict[str, frozenset[int]] = field(default_factory=dict)
    """Program -> the places of the tests that it passes."""

    async def extend(self, programs: Sequence[str], tests: Sequence[str]) -> None:
        """Run what is new: every program on the new tests, the new programs on all of them."""
        known, first = list(self.passed), len(self.tests)
        self.tests += [test for test in dict.fromkeys(tests) if test not in self.tests]
        added = [program for program in dict.fromkeys(programs) if program not in self.passed]
        if known and len(self.tests) > first:
            for program, found in zip(known, await self.run(known, self.tests[first:]), strict=True):
                self.passed[program] |= {first + place for place in found}
        if added:
            found_of = await self.run(added, self.tests) if self.tests else [frozenset[int]()] * len(added)
            self.passed |= dict(zip(added, found_of, strict=True))


@dataclass(frozen=True, kw_only=True, slots=True)
class Behaviour:
    """Programs that pass the same tests."""

    members: tuple[Landed, ...]
    """In the order of arrival."""
    passed: frozenset[int]
    score: float


def behaviours(programs: Sequence[Landed], matrix: Matrix) -> tuple[Behaviour, ...]:
    """Return the behaviours of programs, the winner first and the others in the order first seen. Pure."""
    groups: dict[frozenset[int], list[Landed]] = {}
    for program in programs:
        groups.setdefault(matrix.passed[text_of(program)], []).append(program)
    sizes, passed = [len(members) for members in groups.values()], list(groups)
    if not sizes:
        return ()
    scores = best_behaviour(sizes, passed)
    found = [
        Behaviour(members=tuple(members), passed=tests, score=score)
        for (tests, members), score in zip(groups.items(), scores, strict=True)
    ]
    found.insert(0, found.pop(winning_behaviour(sizes, scores)))
    return tuple(found)


def text_of(landed: Landed) -> str:
    """Return the program itself, empty where none could be read."""
    return (landed.answer.answer or "").strip()


async def draw_programs(session: Session, opened: Opened, parts: Parts, run: RunTests) -> Attempt:
    """Draw rounds of programs and tests until the same behaviour keeps winning; the winner's first program stands."""
    landed: list[Landed] = []
    failed: list[str] = []
    matrix = Matrix(run=run)
    steady: list[bool] = []
    winner: Landed | None = None
    stopped, rounds = "", 0
    while not stopped:
        calls = _round(session, opened, parts, len(landed) + len(failed), rounds + 1)
        if not calls:
            stopped = "cap"
            break
        arrived, tests, failures = await _ask(session, calls, parts)
        rounds, landed, failed = rounds + 1, [*landed, *arrived], [*failed, *failures]
        stopped = _ended(landed, arrived)
        sound = [one for one in landed if one.candidate is not None and not one.candidate.failed_checks]
        await matrix.extend([text_of(one) for one in sound], tests)
        found = behaviours(sound, matrix)
        if found:
            before, winner = winner, found[0].members[0]
            steady.append(before is not None and matrix.passed[text_of(before)] == found[0].passed)
        if not stopped and settled(steady, len(landed)):
            stopped = "cap" if len(landed) >= MOST_PROGRAMS else "clear"
    return _attempt(landed, failed, winner, matrix, stopped, rounds)


def _round(session: Session, opened: Opened, parts: Parts, drawn: int, number: int) -> list[Call]:
    """Return the calls of the next round: its tests first, then as many programs as can be paid; none where one cannot."""
    purse, payable = parts.purse, parts.purse.affordable()
    models = models_of(session, "system2")

    def call(name: str, role: str, place: int) -> Call:
        messages = answer_messages(session.problem) if role == "generate" else test_messages(session.problem, ROUND)
        return call_of(
            session, parts, key=key_of(opened, name), role=role, messages=messages, model=models[place % len(models)]
        )

    wanted = [call(f"tests{number}", "tests", number - 1)]
    wanted += [call(f"answer{n}", "generate", n - 1) for n in range(drawn + 1, min(drawn + ROUND, MOST_PROGRAMS) + 1)]
    paid = [one for one in wanted if purse.recorded(one.step_key)]
    left = None if payable is None else payable + len(paid)
    calls = wanted if left is None else wanted[:left]
    return calls if len(calls) > 1 else []


async def _ask(session: Session, calls: Sequence[Call], parts: Parts) -> tuple[list[Landed], list[str], list[str]]:
    """Return the programs and tests that came, and the kinds of the errors of programs that did not."""

    async def program(call: Call) -> Landed | tuple[str, ...]:
        return await sample(session, call, parts, "sample")

    async def tests(call: Call) -> Landed | tuple[str, ...]:
        reply = await parts.ask(call)
        return tuple(one.text for one in parse_proposals(reply.text, reply.finish_reason, ROUND)[0])

    jobs = [program(call) if call.role == "generate" else tests(call) for call in calls]
    found, failures = await any_of(jobs, parts)
    written = [test for one in found if isinstance(one, tuple) for test in one]
    arrived = [one for one in found if isinstance(one, Landed)]
    return arrived, written, [error.kind for error in failures]


def _ended(landed: Sequence[Landed], arrived: Sequence[Landed]) -> str:
    """Return why no round may follow, whatever the behaviours say; empty where one may."""
    if any(one.proven for one in arrived):
        return "check"
    if not arrived:
        return "failed"
    return "" if any(one.candidate is not None for one in landed) else "unreadable"


def _attempt(
    landed: Sequence[Landed], failed: Sequence[str], winner: Landed | None, matrix: Matrix, stopped: str, rounds: int
) -> Attempt:
    chosen = None if winner is None else winner.answer.key
    costs = [one.usage.cost_usd for one in landed]
    known = [cost for cost in costs if cost is not None]
    draw = Draw(
        rule="programs", samples=len(landed), cap=MOST_PROGRAMS, waves=rounds, stopped=stopped,
        tokens=sum(one.usage.tokens for one in landed), cost_usd=sum(known) if len(known) == len(costs) else None,
        programs=_evidence(landed, matrix),
    )  # fmt: skip
    return Attempt(
        candidates=tuple(one.candidate for one in landed if one.candidate is not None),
        answers=tuple(
            replace(one.answer, origin="chosen") if one.answer.key == chosen else one.answer for one in landed
        ),
        failed=tuple(failed),
        draw=draw if landed else None,
    )


def _evidence(landed: Sequence[Landed], matrix: Matrix) -> dict[str, Any]:
    found = behaviours([one for one in landed if text_of(one) in matrix.passed], matrix)
    groups = [
        {
            "programs": len(one.members),
            "passed": len(one.passed),
            "score": round(one.score, 4) if one.passed else None,
            "first": one.members[0].answer.key,
        }
        for one in found
    ]
    return {"tests": len(matrix.tests), "behaviours": groups[:SHOWN]}
