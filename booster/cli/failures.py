"""From the errors of all parts to one line and one exit code."""

from booster.errors import BoosterError
from booster.journal.errors import JournalError, UnknownSession
from providers.errors import ProviderError
from scheduler.errors import InvalidInputError, SchedulerError
from verifier.errors import VerifierError


def explained(error: Exception) -> tuple[str, int]:
    """Return text and exit code: 2 where the command was used wrongly or names no session, else 1.

    Raises:
        Exception: `error` itself where it is none of ours: a defect deserves its stack trace.
    """
    if isinstance(error, BoosterError):
        return str(error), error.exit_code
    if isinstance(error, UnknownSession | VerifierError | InvalidInputError):
        return str(error), 2
    if isinstance(error, JournalError | ProviderError | SchedulerError | OSError):
        return str(error), 1
    raise error
