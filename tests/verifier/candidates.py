"""Candidates for the tests of the verifier."""

from providers.types import Proposal
from verifier.types import Candidate


def candidate(
    answer: str | None = None, *, step: str = "Add the two numbers", key: str = "it1/candidate0"
) -> Candidate:
    """Return a candidate with this answer and step text."""
    return Candidate(proposal=Proposal(text=step, answer=answer), source="model", key=key)
