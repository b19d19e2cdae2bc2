"""Is it any good? Scores, executable checks and votes over candidates.

Plain functions on plain values (`score`, `vote`, `extract_answer`, `run_checks`), and the same behind the protocol
`Verifier` for the loop. Above: `booster`. Below: only the values of `providers.types`. Names are loaded on first use.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from verifier.answers import extract_answer, normal_form, vote_key
    from verifier.checks import (
        CheckVerifier,
        compile_check,
        parse_check,
        parse_check_argument,
        parse_checks,
        run_checks,
    )
    from verifier.consensus import vote
    from verifier.errors import CheckError, NoCandidatesError, VerifierError
    from verifier.heuristic import HeuristicVerifier, jaccard, near_repeat, score
    from verifier.types import (
        Candidate,
        Check,
        CheckResult,
        Context,
        Score,
        Verdict,
        Verifier,
        Weights,
    )

__all__ = [
    "Candidate",
    "Check",
    "CheckError",
    "CheckResult",
    "CheckVerifier",
    "Context",
    "HeuristicVerifier",
    "NoCandidatesError",
    "Score",
    "Verdict",
    "Verifier",
    "VerifierError",
    "Weights",
    "compile_check",
    "extract_answer",
    "jaccard",
    "near_repeat",
    "normal_form",
    "parse_check",
    "parse_check_argument",
    "parse_checks",
    "run_checks",
    "score",
    "vote",
    "vote_key",
]

_HOMES = {
    "answers": ("extract_answer", "normal_form", "vote_key"),
    "checks": ("CheckVerifier", "compile_check", "parse_check", "parse_check_argument", "parse_checks", "run_checks"),
    "consensus": ("vote",),
    "errors": ("CheckError", "NoCandidatesError", "VerifierError"),
    "heuristic": ("HeuristicVerifier", "jaccard", "near_repeat", "score"),
    "types": ("Candidate", "Check", "CheckResult", "Context", "Score", "Verdict", "Verifier", "Weights"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
