"""Statuses: of errors, of a model's refusals, and of solves that ended without an answer."""

from pathlib import Path
from typing import Any

import pytest

from booster.errors import BusyError, ConfigFileError, OutputPathError, UnknownSessionError, UsageError
from booster.journal.errors import JournalError, SessionBusy, StateConflict, UnknownSession
from booster.server.refusals import ending_status, error_response, passed_on, status_of
from providers.errors import ConfigurationError, NoProviderError, TransientError
from verifier.errors import CheckError


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("iterations: 0 is not allowed", field="iterations"), 400),
        (OutputPathError("outside"), 400),
        (CheckError("unknown", field="kind"), 400),
        (UnknownSession("ses_x"), 404),
        (UnknownSessionError("ses_x"), 404),
        (BusyError("ses_x"), 409),
        (SessionBusy("ses_x", "another"), 409),
        (StateConflict("changed"), 409),
        (TransientError("slow down", status=429), 429),
        (ConfigurationError("wrong key", status=401), 502),
        (NoProviderError("configure one"), 503),
        (JournalError("the disk is full"), 503),
        (ConfigFileError(Path("config.json"), "not JSON"), 500),
        (RuntimeError("a defect"), 500),
    ],
)
def test_every_error_has_the_status_of_whose_trouble_it_is(error: Exception, status: int) -> None:
    """The caller's, another worker's, the model's, or ours."""
    assert status_of(error)[0] == status


@pytest.mark.parametrize(
    ("status", "told"),
    [(400, 400), (413, 413), (429, 429), (401, 502), (403, 502), (500, 502), (503, 503), (504, 504), (529, 503), (None, 502), (200, 502)],
)  # fmt: skip
def test_a_models_refusal_never_looks_like_ours(status: int | None, told: int) -> None:
    """401 would send the client for another token."""
    assert passed_on(status) == told


@pytest.mark.parametrize(
    ("document", "status"),
    [
        ({"status": "running"}, 202),
        ({"status": "continue"}, 202),
        ({"status": "done", "answer": "42", "stopReason": "answered"}, 200),
        ({"status": "done", "answer": "", "stopReason": "answered"}, 200),
        ({"status": "done", "answer": None, "stopReason": "deadline"}, 504),
        ({"status": "done", "answer": None, "stopReason": "iterations"}, 422),
        ({"status": "cancelled", "answer": None, "stopReason": "cancelled"}, 409),
        ({"status": "degraded", "answer": None, "diagnostics": {"failures": [{"status": 400}]}}, 400),
        ({"status": "degraded", "answer": None, "diagnostics": {"failures": []}}, 503),
    ],
)
def test_no_answer_is_never_an_ok(document: dict[str, Any], status: int) -> None:
    """Work that goes on is not one either."""
    assert ending_status(document) == status


def test_a_refusal_names_message_field_and_code() -> None:
    """In the form that OpenAI's clients read."""
    response = error_response(400, "too small", code="invalid_value", param="iterations", headers={"x-more": "1"})

    assert response.status_code == 400
    assert response.headers["x-more"] == "1"
    assert bytes(response.body) == (
        b'{"error":{"message":"too small","type":"invalid_request_error","param":"iterations","code":"invalid_value"}}'
    )
