"""The knobs of the simulated model, and the one formula that says how often it is right.

A reply is a function of (seed, model id, conversation, how often this conversation was answered before), so the order
in which concurrent requests arrive changes no multiset of answers. Above: `providers.simulated_reply` writes texts,
`providers.simulated_server` serves them. Below: the bank of tasks and the faults.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Literal, get_args

from providers.simulated_faults import Fault
from providers.simulated_reading import SLIP_VARIANTS, Question
from providers.simulated_tasks import SimulatedTask, demo_tasks
from providers.types import SIMULATED_PREFIX

Shape = Literal["json", "prose", "thinking", "fenced", "mixed"]
"""How a reply is dressed: bare JSON, a numbered list or sentences, JSON after a `<think>` block, JSON in a Markdown
fence, or one of the four by chance."""

ManyChoices = Literal["ok", "rejected", "ignored"]
"""What the server does with `n` > 1: n choices, status 400, or one choice and no word about it."""

SMALL = SIMULATED_PREFIX + "small"
MEDIUM = SIMULATED_PREFIX + "medium"
LARGE = SIMULATED_PREFIX + "large"

SKILL_STEP: Mapping[str, float] = {SMALL: -0.25, MEDIUM: 0.0, LARGE: 0.25}
"""What a model's skill adds to the knob `skill`; every other id that begins with `simulated/` counts as medium."""

PRICES: Mapping[str, tuple[float, float]] = {SMALL: (0.1, 0.4), MEDIUM: (0.5, 2.0), LARGE: (2.5, 10.0)}
"""Invented US dollars per million prompt and completion tokens, so that comparisons of cost have something to count."""

SLOPE = 8.0
"""Steepness of the logistic: one tenth of skill over the difficulty is 0.8 in log-odds."""

SLIP_COST = 0.15
"""Difficulty that a standing wrong step on the scratchpad adds."""


def _bank() -> tuple[SimulatedTask, ...]:
    return tuple(demo_tasks(60))


@dataclass(frozen=True, kw_only=True, slots=True)
class SimulatedModel:
    """How the simulated model behaves.

    Raises:
        ValueError: a knob is out of its range.
    """

    seed: int = 0
    """Of every draw."""
    skill: float = 0.5
    """Of the medium model, in [0, 1]: the difficulty that it masters every other time."""
    accuracy: float | None = None
    """In [0, 1]: how often a whole answer, and each single step, is right, whatever model and task; None = by skill."""
    latency: float = 0.0
    """Seconds from request to reply, at least."""
    jitter: float = 0.0
    """Seconds added to `latency` at most, uniformly."""
    shape: Shape = "json"
    distractors: int = 4
    """Distinct wrong answers to a task, and wrong forms of a step; 1..8, fewer where a task has fewer."""
    correlation: float = 0.0
    """In [0, 1]: share of wrong answers that are the task's most tempting one, whichever model errs; the others
    spread evenly over all."""
    n: ManyChoices = "ok"
    usage: bool = True
    """Whether replies report usage: characters / 4, rounded up."""
    faults: tuple[Fault, ...] = ()
    """The first one that is due decides how a request fails."""
    tasks: tuple[SimulatedTask, ...] = field(default_factory=_bank)
    """What the model knows: the first 60 of `demo_tasks` by default."""

    def __post_init__(self) -> None:
        shares = {"skill": self.skill, "correlation": self.correlation, "accuracy": self.accuracy or 0.0}
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must lie in [0, 1], not {value}")
        for name, seconds in (("latency", self.latency), ("jitter", self.jitter)):
            if not 0 <= seconds < math.inf:
                raise ValueError(f"{name} must be finite seconds from 0, not {seconds}")
        if not 1 <= self.distractors <= SLIP_VARIANTS:
            raise ValueError(f"distractors must lie in 1..{SLIP_VARIANTS}, not {self.distractors}")
        for name, chosen, known in (("shape", self.shape, get_args(Shape)), ("n", self.n, get_args(ManyChoices))):
            if chosen not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {chosen!r}")

    def p_right(self, model_id: str, question: Question, steps_at_once: int) -> float:
        """Return the probability that the model takes the next steps of the chain together without error.

            p = 1 / (1 + exp(-8 * (skill - difficulty * steps_at_once / steps of the chain - 0.15 * standing slips)))

        A whole answer takes all steps that the scratchpad does not hold yet; the next step alone takes one. So small
        steps are likelier right than one leap, each right step makes the rest easier, and a wrong one makes it harder.

        Args:
            model_id: Sets the skill: the knob, 0.25 less for `simulated/small`, 0.25 more for `simulated/large`.
            question: The conversation as read.
            steps_at_once: Steps taken together, from 0.
        """
        if self.accuracy is not None:
            return self.accuracy
        skill = min(1.0, max(0.0, self.skill + SKILL_STEP.get(model_id, 0.0)))
        load = question.task.difficulty * steps_at_once / len(question.task.steps)
        return 1 / (1 + math.exp(-SLOPE * (skill - load - SLIP_COST * question.slips)))

    def draw(self, *key: object) -> Random:
        """Return the generator of random numbers that belongs to this key and the seed."""
        digest = hashlib.blake2b(repr((self.seed, *key)).encode(errors="surrogatepass"), digest_size=8).digest()
        return Random(int.from_bytes(digest))

    def wrong_pick(self, rng: Random, available: int) -> int:
        """Return which of the wrong forms is taken, from 0; `available` (at least 1) is how many there are."""
        spread = min(self.distractors, available)
        tempting, place = rng.random() < self.correlation, int(rng.random() * spread)
        return 0 if tempting else place
