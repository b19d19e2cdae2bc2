"""The public surface of the package."""

import subprocess
import sys

import pytest

import verifier
from verifier.errors import CheckError, NoCandidatesError, VerifierError


def test_every_public_name_can_be_had() -> None:
    assert verifier.__all__ == sorted(verifier.__all__)
    assert all(getattr(verifier, name) is not None for name in verifier.__all__)
    assert dir(verifier) == verifier.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'judge_of_all'"):
        verifier.judge_of_all  # noqa: B018  the access is the act


def test_there_is_one_base_error() -> None:
    assert issubclass(CheckError, VerifierError)
    assert issubclass(NoCandidatesError, VerifierError)


def test_the_import_is_light_and_so_is_a_vote() -> None:
    """Neither RE2 nor the JSON Schema engine is loaded before a check needs it."""
    code = """
import sys, verifier
assert not [name for name in sys.modules if name.startswith("verifier.")], "submodules loaded"
verifier.vote([("a", "1"), ("b", "1.0")]), verifier.parse_check({"kind": "numeric", "value": 42})
assert not {"re2", "jsonschema", "referencing", "booster"} & set(sys.modules), "heavy modules loaded"
verifier.parse_check({"kind": "regex", "value": "a"})
assert "re2" in sys.modules and "jsonschema" not in sys.modules
"""
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert finished.returncode == 0, finished.stderr
