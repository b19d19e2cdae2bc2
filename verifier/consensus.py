"""Self-consistency: keep the answer that most samples agree on.

Source: Wang et al. 2023, "Self-Consistency Improves Chain of Thought Reasoning in Language Models", arXiv:2203.11171,
section 2: the plain, unweighted majority vote.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence

from verifier.answers import vote_key
from verifier.errors import NoCandidatesError
from verifier.numbers import has_unit, plain_number, read_quantity
from verifier.types import Verdict

Groups = dict[Hashable, list[tuple[str, str]]]
"""Key -> the (sample id, answer) of its members, in the order of arrival."""


def vote(
    answers: Sequence[tuple[str, str | None]],
    *,
    key: Callable[[str], Hashable | None] = vote_key,
) -> Verdict:
    """Return the answer with the most votes; a tie goes to the group seen first.

    With the default key, bare numbers join the largest group that has the same number with a unit: `4` speaks for `4 litres`,
    or for `4 gallons` where most say gallons, but never makes these two one group.
    An abstention (no answer, a blank one, or one for which `key` returns None) counts among the samples and never as a vote.

    Args:
        answers: (sample id, answer) in the order of arrival; ids are unique.
        key: Answers with equal keys are one group. Pass your own for answers that are not prose: a pattern of passed tests, a
            tool call with its arguments sorted.

    Raises:
        NoCandidatesError: there is no answer to vote on: no sample, or only abstentions.
    """
    groups: Groups = {}
    for sample_id, answer in answers:
        group = key(answer) if answer is not None and answer.strip() else None
        if answer is not None and group is not None:
            groups.setdefault(group, []).append((sample_id, answer))
    if not groups:
        raise NoCandidatesError(f"nothing to vote on: {len(answers)} samples, none of them with an answer")
    if key is vote_key:
        arrival = {sample_id: place for place, (sample_id, _) in enumerate(answers)}
        groups = _with_units(groups, arrival)

    ranked = sorted(groups.values(), key=lambda members: -len(members))  # stable: ties stay in order of first sight
    return Verdict(
        answer=ranked[0][0][1],
        votes=len(ranked[0]),
        runner_up=len(ranked[1]) if len(ranked) > 1 else 0,
        samples=len(answers),
        groups=tuple((members[0][1], tuple(sample_id for sample_id, _ in members)) for members in ranked),
    )


def _with_units(groups: Groups, arrival: Mapping[str, int]) -> Groups:
    """Let each group of a bare number join the largest group of the same number with a unit, if there is one."""
    joined = dict(groups)
    for bare in groups:
        if plain_number(str(bare)) is None:
            continue
        named = [key for key in groups if _is_with_unit(str(key), str(bare))]
        if named:
            home = max(named, key=lambda key: len(groups[key]))  # the first of equals
            joined[home] = sorted((*joined[home], *joined.pop(bare)), key=lambda member: arrival[member[0]])
    return dict(sorted(joined.items(), key=lambda group: arrival[group[1][0][0]]))


def _is_with_unit(key: str, bare: str) -> bool:
    quantity = read_quantity(key) if key.startswith(f"{bare} ") else None
    return quantity is not None and has_unit(quantity)
