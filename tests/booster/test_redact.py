"""Redaction of secrets and cleaning of text for terminals."""

import html
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.redact import REDACTED, Redactor, printable

SECRET = 'p@ss/w"rd+é 1'
SAFE = st.text(st.characters(blacklist_characters="[]", blacklist_categories=["Cs"]), min_size=6, max_size=40)


@given(secret=SAFE, before=st.text(max_size=40), after=st.text(max_size=40))
def test_a_loaded_secret_never_survives(secret: str, before: str, after: str) -> None:
    """Whatever stands around it, a secret that is long enough is gone from the output."""
    if secret in REDACTED:
        return

    cleaned = Redactor([secret])(before + secret + after)

    assert secret not in cleaned


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote(SECRET, safe="").lower(),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(SECRET))[3:-3],
    ],
)
def test_a_secret_is_hidden_in_the_forms_in_which_it_travels(form: str) -> None:
    """URL-encoded, JSON-escaped and JSON inside JSON count as the secret too."""
    assert Redactor([SECRET])(f"<{form}>") == f"<{REDACTED}>"


def test_where_one_secret_begins_with_another_nothing_of_the_longer_one_stays() -> None:
    """The longer form is tried first."""
    assert Redactor(["abcdef", "abcdefghi"])("abcdefghi abcdef") == f"{REDACTED} {REDACTED}"


def test_short_values_are_left_alone() -> None:
    """Hiding every "1" would make text unreadable and show what the value is."""
    assert Redactor(["1", "", "local"])("1 local model") == "1 local model"


def test_redacting_twice_changes_nothing_more() -> None:
    """Text passes several writers; a secret that is part of the mark itself must not grow it."""
    redactor = Redactor(["redacted", "hunter2hunter2"])

    once = redactor("hunter2hunter2 and [redacted]")

    assert once == f"{REDACTED} and {REDACTED}"
    assert redactor(once) == once


@pytest.mark.parametrize(
    "text",
    [
        "key sk-proj-abcdefghij0123456789 used",
        "key csk-abcdefghij0123456789 used",
        "Authorization: Bearer abc123.def456-ghi used",
        "authorization: bearer abc123.def456-ghi used",
        "AUTHORIZATION: BEARER abc123.def456-ghi used",
        "key gsk_abcdefghij0123456789xx used",
        "token ghp_abcdefghijklmnopqrstuvwxyz0123456789 used",
        "token github_pat_11ABCDEFG0123456789_abcdef used",
        "key AIzaSyA-0123456789abcdefghijklmnopqrstu used",
        "id AKIAABCDEFGHIJKLMNOP used",
        "jwt eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.c2lnbmF0dXJl used",
        "db postgresql+psycopg://someone:hunter2@localhost/db used",
    ],
)
def test_well_known_key_shapes_are_hidden_without_being_loaded(text: str) -> None:
    """A key that somebody pasted into a task or that a server echoes is no loaded secret."""
    cleaned = Redactor()(text)

    assert REDACTED in cleaned
    assert cleaned.endswith(" used")
    assert "0123456789" not in cleaned
    assert "hunter2" not in cleaned
    assert "def456" not in cleaned


@pytest.mark.parametrize(
    "text",
    [
        "Bearer authentication is described in RFC 6750",
        "pip install sk-learn-contrib-packages-of-many-kinds",
        "the locale sk-SK",
        "see https://example.org/a:b and http://localhost:8642/v1 for user@example.org",
        "task-0123456789abcdefghij",
        "hf_hub_download and eyJson are names",
    ],
)
def test_ordinary_text_is_returned_as_it_is(text: str) -> None:
    """The very same object comes back: nothing was copied."""
    assert Redactor(["never-in-the-text"])(text) is text


def test_its_own_secrets_can_be_hidden_alone() -> None:
    text = "the-own-key and sk-abcdefghijklmnop1234"

    assert Redactor(["the-own-key"]).own(text) == f"{REDACTED} and sk-abcdefghijklmnop1234"
    assert Redactor().own(text) is text


def test_nested_values_are_redacted_with_their_keys() -> None:
    """Numbers, booleans and null stay what they are; tuples become lists, as in JSON."""
    redactor = Redactor(["hunter2hunter2"])

    cleaned = redactor.redact_value({"a hunter2hunter2": [1, None, True, ("hunter2hunter2", {"b": "ok"})]})

    assert cleaned == {f"a {REDACTED}": [1, None, True, [REDACTED, {"b": "ok"}]]}


def test_a_redactor_does_not_show_its_secrets() -> None:
    """A repr ends up in tracebacks and logs."""
    assert "hunter2" not in repr(Redactor(["hunter2hunter2"]))


@given(
    st.text(st.sampled_from("a1 \x1b[]0;?mH\\\x07\x9b\x9d\r\n\t\u202e\u2066\ufeff\U000e0041\x00\x7f😀é"), max_size=60)
)
def test_nothing_that_a_terminal_obeys_gets_through(text: str) -> None:
    """Only printable characters, tabs and line feeds are left, and cleaning again changes nothing."""
    cleaned = printable(text)

    assert all(character.isprintable() or character in "\n\t" for character in cleaned)
    assert printable(cleaned) == cleaned


def test_escape_sequences_go_as_a_whole() -> None:
    """Colours, window titles and links leave no debris behind."""
    text = "\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x9b2Jend"

    assert printable(text) == "red link end"


def test_an_unfinished_sequence_hides_no_further_line() -> None:
    """A reply must not be able to swallow what stands below it."""
    assert printable("a\x1b]0;never closed\nb") == "a\nb"


def test_a_carriage_return_cannot_write_over_a_line() -> None:
    """It becomes a line feed; the pair CR LF becomes one."""
    assert printable("paid 9 USD\rpaid 1 USD\r\n") == "paid 9 USD\npaid 1 USD\n"


def test_text_of_all_languages_stays() -> None:
    """Joiners are part of emoji and scripts."""
    text = "žluťoučký 漢字 👩\u200d💻 می\u200cخواهم\n\tend"

    assert printable(text) is text
    assert printable(html.unescape("&lrm;abc")) == "abc"
