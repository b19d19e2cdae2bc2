"""Best-of-N and shallow beam: which candidate wins, and which heads are worth expanding. Pure.

Best-of-N: Cobbe et al. 2021, arXiv:2110.14168, section 4. Beam over partial solutions: Yao et al. 2023, arXiv:2305.10601,
section 3 (breadth-first variant).
"""

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal

from booster.config import Config
from verifier.answers import vote_key
from verifier.consensus import vote
from verifier.heuristic import near_repeat
from verifier.types import Candidate


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """What a selection came to."""

    winner: Candidate | None
    """None where there is no candidate, or none that passes the user's checks."""
    ranked: tuple[Candidate, ...]
    """All candidates, best first; equal ones in the order of generation."""
    contenders: tuple[Candidate, ...] = ()
    """Those that the winner was taken from, best first: what may be applied in its place."""
    tie: bool = False
    """True where several candidates could not be told apart and the first was taken."""


def total(candidate: Candidate) -> float:
    """Return the candidate's `totalScore`; 0 where it was never scored."""
    return candidate.score.total if candidate.score else 0.0


def preference(candidate: Candidate) -> float:
    """Return what opinions say for the candidate, in log odds; 0 where it was compared with none."""
    return math.fsum(said["z"] * said["weight"] for said in candidate.opinions.values() if "z" in said)


def rank(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Sort best first: those that fail a check last, then more passed checks, then opinions, then `totalScore`; stable."""
    return tuple(
        sorted(
            candidates,
            key=lambda one: (bool(one.failed_checks), -len(one.passed_checks), -preference(one), -total(one)),
        )
    )


def choose_step(candidates: Sequence[Candidate], steps: Sequence[str], banned: Sequence[str]) -> Choice:
    """Pick the step to apply: the best that passes its checks, away from repetition.

    Args:
        candidates: In the order of generation.
        steps: Texts of the applied steps, oldest first.
        banned: Texts that a backtrack has ruled out.
    """
    ranked = rank(candidates)
    sound = [one for one in ranked if not one.failed_checks]
    fresh = [one for one in sound if not near_repeat(one.proposal.text, [*steps, *banned])]
    allowed = [one for one in sound if not near_repeat(one.proposal.text, banned)]
    pool = fresh or allowed or sound
    tie = len(pool) > 1 and all(_class(one) == _class(pool[0]) for one in pool)
    return Choice(winner=pool[0] if pool else None, ranked=ranked, contenders=tuple(pool), tie=tie)


def choose_answer(
    candidates: Sequence[Candidate], select: Literal["auto", "score", "judge", "vote", "programs"]
) -> Choice:
    """Pick the candidate whose answer to the whole task stands.

    An answer that fails a user's check is out; no vote brings it back. `score` takes the highest `totalScore`, else the
    most frequent answer wins (Wang et al. 2023, arXiv:2203.11171) and its first proposer represents it.
    """
    ranked = rank(candidates)
    sound = [one for one in candidates if not one.failed_checks and (one.proposal.answer or "").strip()]
    if not sound:
        return Choice(winner=None, ranked=ranked)
    proven = [one for one in sound if one.passed_checks] or sound
    if select == "score":
        winner = rank(proven)[0]
        return Choice(winner=winner, ranked=ranked, tie=sum(_class(one) == _class(winner) for one in proven) > 1)
    verdict = vote([(one.key, one.proposal.answer) for one in proven])
    first = verdict.groups[0][1][0]
    winner = next(one for one in proven if one.key == first)
    return Choice(winner=winner, ranked=ranked, tie=verdict.votes == verdict.runner_up)


def _class(candidate: Candidate) -> tuple[int, float, float]:
    return len(candidate.passed_checks), preference(candidate), total(candidate)


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A first step and what could follow it."""

    path: tuple[Candidate, ...]
    """Head first; at least one."""
    values: tuple[float, ...] = ()
    """How likely the last state leads to a right answer, in [0, 1]: one for each time that a model was asked."""

    @property
    def head(self) -> Candidate:
        """The step that would be applied now."""
        return self.path[0]

    @property
    def key(self) -> str:
        """Normal form of the last step: branches that end in equal states are one."""
        return vote_key(self.path[-1].proposal.text)

    @property
    def score(self) -> float:
        """Mean `totalScore` along the path: cumulative score that does not punish a branch whose expansion failed."""
        return sum(total(one) for one in self.path) / len(self.path)


def open_branches(choice: Choice, most: int) -> tuple[Branch, ...]:
    """Return the best heads, at most so many: none that fails a check, is banned, or repeats where another does not."""
    return distinct([Branch(path=(one,)) for one in choice.contenders])[:most]


def grow(branches: Sequence[Branch], children: Mapping[int, Sequence[Candidate]]) -> tuple[Branch, ...]:
    """Grow every branch by its children; a branch without children stays as it is.

    Args:
        branches: The present ones.
        children: Scored continuations by position in `branches`.
    """
    grown: list[Branch] = []
    for position, branch in enumerate(branches):
        sound = [one for one in children.get(position, ()) if not one.failed_checks]
        grown.extend(Branch(path=(*branch.path, one)) for one in sound)
        if not sound:
            grown.append(branch)
    return distinct(grown)


def distinct(branches: Sequence[Branch], key: Callable[[Branch], Hashable] = attrgetter("key")) -> tuple[Branch, ...]:
    """Return one branch for each state, the first seen, with the values of all that end in it.

    Args:
        branches: In order.
        key: Tells states apart; by default the normal form of the last step.
    """
    found: dict[Hashable, Branch] = {}
    for branch in branches:
        state = key(branch)
        first = found.get(state)
        found[state] = replace(first, values=(*first.values, *branch.values)) if first else branch
    return tuple(found.values())


def keep(branches: Sequence[Branch], width: int) -> tuple[Branch, ...]:
    """Return the best `width`, best first; equal ones in their order.

    Values decide where every branch has some, else the scores do: the two are no measure for each other.
    """
    valued = all(branch.values for branch in branches)

    def worth(branch: Branch) -> float:
        return sum(branch.values) / len(branch.values) if valued else branch.score

    return tuple(sorted(branches, key=lambda branch: -worth(branch))[:width])


def best_head(branches: Sequence[Branch]) -> Candidate | None:
    """Return the head of the best branch; the first of equals."""
    return keep(branches, 1)[0].head if branches else None


def at_depth(given: int | Sequence[int], depth: int) -> int:
    """Return what an option says for a depth, 1, 2, ...: one number holds for all, the last of a list for the rest."""
    return given if isinstance(given, int) else given[min(depth, len(given)) - 1]


def beam_calls(config: Config) -> int:
    """Return the most calls that one beam can cost: expansions of the kept states, values of all distinct ones."""
    width, values, depth = config.beam_width, config.value_calls, config.beam_depth
    if depth < 2 or max(at_depth(width, level) for level in range(1, depth + 1)) < 2:
        return 0
    states, calls = config.top_m, 0
    for level in range(1, depth + 1):
        calls += states * at_depth(values, level)
        kept = min(states, at_depth(width, level))
        if level < depth:
            calls += kept
            states = kept * config.num_candidates
    return calls
