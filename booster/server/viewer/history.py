"""A session's events as turns: what each iteration decided, tried, chose, and what became of it. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from booster.ballots import groups_of
from booster.codec import decode
from booster.session import Iteration, Opened, PooledAnswer, Step

Events = Iterable[Mapping[str, Any]]
"""`{seq, at, type, data}` each, oldest first."""


State = Literal["open", "applied", "taken back", "answers", "nothing"]
"""Of an iteration; `answers`: some were drawn, and no step was applied."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """Something that happened beside the choice itself."""

    at: str
    kind: str
    """Type of the event."""
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """Equal answers of one turn."""

    answer: str
    votes: int
    share: float
    """Of all answers that were drawn, in [0, 1]."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One iteration."""

    number: int
    """1, 2, ..."""
    opened: Opened
    """As it was begun, before any escalation."""
    at: str
    escalated_at: str = ""
    """When System 2 took it up; empty where it did not."""
    escalation: str = ""
    """Why, in words."""
    closed: Iteration | None = None
    """None while it is under way."""
    closed_at: str = ""
    step: Step | None = None
    parent: int | None = None
    """Number of the turn whose step this one's goes on from; None = it starts from the task."""
    taken_back: bool = False
    answers: tuple[PooledAnswer, ...] = ()
    hints: tuple[str, ...] = ()
    """What the next prompt says beside the steps."""
    remarks: tuple[Remark, ...] = ()

    @property
    def state(self) -> State:
        """What became of it."""
        if self.closed is None:
            return "open"
        if self.step is not None:
            return "taken back" if self.taken_back else "applied"
        return "answers" if any(one.answer for one in self.answers) else "nothing"

    @property
    def groups(self) -> tuple[Group, ...]:
        """Equal answers that this turn drew, the largest group first."""
        by_key = {one.key: one.answer or "" for one in self.answers}
        return tuple(
            Group(answer=by_key[keys[0]], votes=len(keys), share=len(keys) / len(self.answers))
            for keys in groups_of(self.answers)
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class History:
    """All turns of a session, and what happened before or after them."""

    turns: tuple[Turn, ...] = ()
    remarks: tuple[Remark, ...] = ()
    """What belongs to no turn."""


def history_of(events: Events) -> History:
    """Return the turns that events tell of."""
    turns: dict[int, Turn] = {}
    remarks: list[Remark] = []
    applied: list[int] = []
    for event in events:
        at, kind, data = event["at"], event["type"], event["data"]
        last = turns[max(turns)] if turns else None
        match kind:
            case "iteration_opened":
                opened = decode(Opened, data)
                turns[opened.iteration] = Turn(
                    number=opened.iteration, opened=opened, at=at, parent=applied[-1] if applied else None
                )
            case "escalated" if last is not None:
                turns[last.number] = replace(last, escalated_at=at, escalation=data["decision"]["reason"])
            case "iteration_closed":
                turn = _closed(turns, data, at)
                turns[turn.number] = turn
                if turn.step is not None:
                    applied.append(turn.number)
            case _ if last is None:
                remarks.extend(_remark(at, kind, data))
            case _:
                if kind == "backtracked" and applied:
                    back = applied.pop()
                    turns[back] = replace(turns[back], taken_back=True)
                    last = turns[last.number]
                turns[last.number] = replace(last, remarks=(*last.remarks, *_remark(at, kind, data)))
    return History(turns=tuple(turns[number] for number in sorted(turns)), remarks=tuple(remarks))


def _closed(turns: Mapping[int, Turn], data: Mapping[str, Any], at: str) -> Turn:
    closed = decode(Iteration, data["iteration"])
    return replace(
        turns[closed.iteration], closed=closed, closed_at=at, step=decode(Step, data["step"]) if data.get("step") else None,
        answers=tuple(decode(PooledAnswer, item) for item in data["answers"]), hints=tuple(data["hints"]),
    )  # fmt: skip


def _remark(at: str, kind: str, data: Mapping[str, Any]) -> tuple[Remark, ...]:
    """Return what an event says in words; nothing for those that are shown elsewhere."""
    match kind:
        case "perturbed":
            text = f"Asks in another way from here on: {data['reason']}."
            text += " Nothing moves any more." if data["stagnant"] else ""
        case "backtracked":
            text = f"Backtracked: the last step is taken back ({data['reason']})."
        case "improved":
            text = "Moves again after a row of repetitions."
        case "reported":
            text = f"Told the scheduler: {data['outcome']}{_taught(data)}."
        case "task_ended":
            text = f"Told the scheduler that the task {'succeeded' if data['success'] else 'failed'}."
        case "answered":
            said = data["answer"]
            text = "Asked for the answer that the steps support: " + (
                "none could be read." if said is None else f"{said}"
            )
        case "extended":
            text = f"Goes on, up to iteration {data['iterations']}."
        case "resumed":
            text = "Another process took it up from the journal; nothing that was paid for was lost."
        case _:
            return ()
    return (Remark(at=at, kind=kind, text=text),)


def _taught(data: Mapping[str, Any]) -> str:
    if data.get("label") is None:
        return ", which teaches it nothing about System 1"
    return f", a label of {data['label']:.2g} with weight {data['weight']:.2g}"
