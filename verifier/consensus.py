"""Self-consistency: keep the answer that most samples agree on.

Source: Wang et al. 2023, "Self-Consistency Improves Chain of Thought Reasoning in Language Models", arXiv:2203.11171,
section 2: the plain, unweighted majority vote.
"""

from collections.abc import Callable, Hashable, Sequence

from verifier.answers import vote_key
from verifier.errors import NoCandidatesError
from verifier.types import Verdict


def vote(
    answers: Sequence[tuple[str, str | None]],
    *,
    key: Callable[[str], Hashable | None] = vote_key,
) -> Verdict:
    """Return the answer with the most votes; a tie goes to the group seen first.

    An abstention (no answer, a blank one, or one for which `key` returns None) counts among the samples and never as a vote.

    Args:
        answers: (sample id, answer) in the order of arrival; ids are unique.
        key: Answers with equal keys are one group. Pass your own for answers that are not prose: a pattern of passed tests, a
            tool call with its arguments sorted.

    Raises:
        NoCandidatesError: there is no answer to vote on: no sample, or only abstentions.
    """
    groups: dict[Hashable, tuple[str, list[str]]] = {}
    for sample_id, answer in answers:
        group = key(answer) if answer is not None and answer.strip() else None
        if answer is not None and group is not None:
            groups.setdefault(group, (answer, []))[1].append(sample_id)
    if not groups:
        raise NoCandidatesError(f"nothing to vote on: {len(answers)} samples, none of them with an answer")

    ranked = sorted(groups.values(), key=lambda group: -len(group[1]))  # stable: ties stay in order of first sight
    return Verdict(
        answer=ranked[0][0],
        votes=len(ranked[0][1]),
        runner_up=len(ranked[1][1]) if len(ranked) > 1 else 0,
        samples=len(answers),
        groups=tuple((answer, tuple(members)) for answer, members in ranked),
    )
