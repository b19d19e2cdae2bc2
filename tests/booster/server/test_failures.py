"""One readable text for every class of error, and nothing of a stranger's."""

import pytest
from mcp.shared.exceptions import MCPError

from booster.errors import OutputPathError, UnknownSessionError, UsageError
from booster.journal.errors import JournalError, SessionBusy, UnknownSession
from booster.server.failures import MAX_ERROR_CHARS, explained
from providers.errors import ConfigurationError
from scheduler.errors import SchedulerError
from verifier.errors import CheckError


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (UsageError("numCandidates: 17 is not allowed; use 1 to 16"), "numCandidates: 17 is not allowed; use 1 to 16"),
        (OutputPathError('outputPath: "/x" is refused'), 'outputPath: "/x" is refused'),
        (UnknownSession("ses_0"), "no session has the id 'ses_0'; the tool `sessions` lists those there are"),
        (
            UnknownSessionError("ses_0"),
            "no session has the id 'ses_0'; list the sessions with the tool `sessions` or `booster sessions list`",
        ),
        (
            SessionBusy("ses_0", "process-1"),
            "session ses_0 is being worked on by process-1; wait for it or cancel the session there",
        ),
        (JournalError("disk full"), "disk full"),
        (ConfigurationError("401: set OPENAI_API_KEY", status=401), "401: set OPENAI_API_KEY"),
        (CheckError("is no number", field="value"), "value: is no number"),
        (SchedulerError("no such session"), "no such session"),
        (ValueError("/home/me/secret"), "the server failed unexpectedly (ValueError); its log has the details."),
    ],
)
def test_an_error_is_told_in_its_own_words_if_it_is_ours(error: Exception, text: str) -> None:
    assert explained(error) == text


def test_a_note_on_an_error_is_told_once() -> None:
    error = JournalError("disk full")
    for _ in range(2):
        error.add_note("Session ses_0: what it has is kept; see get-state.")

    assert explained(error) == "disk full Session ses_0: what it has is kept; see get-state."


def test_a_long_error_is_cut_and_stripped_of_what_a_terminal_would_obey() -> None:
    text = explained(UsageError("\x1b[2J" + "x" * 10_000))

    assert text.startswith("xxx")
    assert len(text) == MAX_ERROR_CHARS + 1


def test_a_protocol_error_stays_one() -> None:
    with pytest.raises(MCPError):
        explained(MCPError(code=-32602, message="bad state"))
