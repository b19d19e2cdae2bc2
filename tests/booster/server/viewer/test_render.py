"""Whatever a text says, a page has the same elements."""

from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from booster.server.viewer.list_page import list_page, row_of
from booster.server.viewer.render import Frame, list_html, session_file, session_html
from booster.server.viewer.session_page import SessionPage, session_page
from booster.server.viewer.text import moment
from tests.booster.server.viewer.exports import (
    LEARNED,
    a_call,
    a_poisoned_export,
    an_export,
    backtracked,
    clock,
    closed,
    concluded,
    opened,
    result_of,
)

NOW = moment(clock(60)) or 0.0

FRAME = Frame(nonce="n")

VOID = frozenset({"link", "meta", "br", "img", "input", "hr"})


class Outline(HTMLParser):
    """The elements and attribute names of a page, and whether every element that began has ended."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, ...]] = []
        self.open: list[str] = []
        self.drawings: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, *(name for name, _ in attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def page_of(text: str) -> SessionPage:
    export = a_poisoned_export(text)
    return session_page(export, result_of(export), active=False, now=NOW)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=40))
@example("<script>alert(1)</script>")
@example("</style></title></textarea><svg onload=1>")
@example("\"' onerror=1 x='")
@example("{{ 7 * 7 }}{% include 'base.html' %}")
@example("]]>\u202e\x1b]0;t\x07\ufffe\ud800")
def test_no_text_adds_an_element_or_an_attribute(text: str) -> None:
    expected = Outline(session_html(page_of("harmless"), now=NOW, frame=FRAME))

    found = Outline(session_html(page_of(text), now=NOW, frame=FRAME))

    assert found.found == expected.found
    assert found.open == []


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_drawings_are_well_formed_whatever_they_are_of(text: str) -> None:
    page = page_of(text)

    for drawn in (page.timeline, page.tree):
        assert drawn is not None
        ET.fromstring(drawn)  # it is our own


@pytest.mark.parametrize("mark", ["\u202e", "\u2066", "\u200f"])
def test_marks_that_reorder_text_are_spelled_out(mark: str) -> None:
    html = session_html(page_of(f"abc{mark}def"), now=NOW, frame=FRAME)

    assert f"abc[U+{ord(mark):04X}]def" in html
    assert mark not in html


def test_a_page_asks_for_nothing_inline_but_what_carries_the_nonce() -> None:
    html = session_html(page_of("x"), now=NOW, frame=Frame(nonce="the-nonce"))

    outline = Outline(html)
    assert all(
        "style" not in attributes and not any(name.startswith("on") for name in attributes)
        for _, *attributes in outline.found
    )
    assert html.count('nonce="the-nonce"') == 2
    assert [tag for tag, *_ in outline.found].count("script") == 1


def test_the_file_has_neither_script_nor_link_nor_button() -> None:
    html = session_file(page_of("x"), now=NOW)

    tags = {tag for tag, *_ in Outline(html).found}
    assert not tags & {"script", "link", "button", "form", "img", "iframe"}
    assert "default-src &#39;none&#39;; style-src &#39;sha256-" in html
    assert "http://www.w3.org/2000/svg" in html
    assert html.replace("http://www.w3.org/2000/svg", "").count("://") == 0


def test_a_session_shows_its_decision_its_winner_and_its_backtrack() -> None:
    export = an_export(
        opened(1, LEARNED), ("escalated", {**opened(1, LEARNED)[1], "escalated": True}), closed(1), opened(2), closed(2),
        backtracked(), opened(3), closed(3), concluded(), calls=[a_call(1), a_call(2, "it2/s2/steps", at=1)],
    )  # fmt: skip

    html = session_html(session_page(export, result_of(export), active=False, now=NOW), now=NOW, frame=FRAME)

    for said in ("not above the threshold 0.60", "escalated to", "Contributions to the read-out", "Chosen because", "taken back",
                 "the last step is taken back (repetition)", "No check was given.", "2</b> <span class=\"quiet\">of 24"):  # fmt: skip
        assert said in html


def test_an_unknown_price_is_unknown_and_not_free() -> None:
    export = an_export(concluded())
    row = {"sessionId": "ses_1", "status": "done", "task": "T", "createdAt": clock(0), "active": False}

    html = list_html(list_page([row_of(row, result_of(export))], status=None, limit=5), now=NOW, frame=FRAME)

    assert "unknown" in html
    assert "$0" not in html


def test_an_empty_list_tells_how_to_begin_and_a_narrowed_one_how_to_widen_it() -> None:
    assert "booster solve" in list_html(list_page([], status=None, limit=5), now=NOW, frame=FRAME)
    assert "No session is failed" in list_html(list_page([], status="failed", limit=5), now=NOW, frame=FRAME)
