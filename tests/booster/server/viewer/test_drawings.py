"""Timeline, tree and plot: where things stand, for all inputs."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from booster.server.viewer.calls import views_of
from booster.server.viewer.history import history_of
from booster.server.viewer.reliability import reliability
from booster.server.viewer.svg import bar, element
from booster.server.viewer.text import moment
from booster.server.viewer.tree import MOST_DOTS, placed, tree
from booster.server.viewer.waterfall import LONGEST_PAUSE, ROLES, scale_of, ticks, waterfall
from tests.booster.server.viewer.exports import a_call, backtracked, candidate, clock, closed, events_of, opened
from tests.builders import a_check

SPANS = st.lists(
    st.tuples(st.floats(0, 1e6), st.floats(0, 1e3)).map(lambda pair: (pair[0], pair[0] + pair[1])),
    min_size=1,
    max_size=20,
)
NOON = moment(clock(0)) or 0.0


def parsed(drawing: str) -> ET.Element:
    return ET.fromstring(drawing)  # it is our own


@given(SPANS)
def test_the_scale_keeps_the_order_of_moments_and_stays_on_the_drawing(spans: list[tuple[float, float]]) -> None:
    scale = scale_of(spans)

    at = [scale.at(moment) for moment in sorted(moment for span in spans for moment in span)]
    assert at == sorted(at)
    assert all(0 <= share <= 1 + 1e-9 for share in at)


@given(SPANS)
def test_time_without_calls_takes_room_only_where_it_is_short(spans: list[tuple[float, float]]) -> None:
    scale = scale_of(spans)

    assert scale.total <= max(1e-3, sum(end - start for start, end in spans) + LONGEST_PAUSE * (len(spans) - 1)) + 1e-6
    assert all(pause > LONGEST_PAUSE for _, pause in scale.pauses)


@given(st.floats(1e-3, 1e7))
def test_ticks_are_few_and_none_lies_outside(total: float) -> None:
    found = ticks(total)

    assert 2 <= len(found) <= 6
    assert found[0] == 0
    assert found[-1] <= total * (1 + 1e-9)


def test_every_call_has_a_bar_and_says_how_it_ended() -> None:
    calls = [
        a_call(1), a_call(2, state="failed", reply=None, error={"message": "429"}), a_call(3, seconds=None, at=1),
        a_call(4, reply={**a_call(4)["reply"], "problem": "refusal", "text": ""}),
    ]  # fmt: skip

    drawn = parsed(waterfall(views_of(calls, active=True), NOON + 3))

    rows = [one for one in drawn.iter() if "call" in (one.get("class") or "").split()]
    assert [(one.get("class") or "").split()[-1] for one in rows] == ["done", "failed", "running", "empty"]
    assert [text for text in drawn.itertext() if text.endswith(("failed", "empty", "…"))][-1] == "250 ms empty"


def test_a_long_pause_is_marked_and_says_how_long_it_was() -> None:
    drawn = parsed(waterfall(views_of([a_call(1), a_call(2, at=3600)], active=False), NOON))

    assert [one.get("x1") for one in drawn.iter() if one.get("class") == "pause"] == ["50%"]
    assert "1 h without a call, left out" in drawn.itertext()


def test_a_call_whose_process_is_gone_is_lost_and_not_running() -> None:
    (call,) = views_of([a_call(1, seconds=None)], active=False)

    assert call.state == "lost"


@pytest.mark.parametrize("role", [*ROLES, "unheard-of"])
def test_every_role_has_a_pattern_that_its_bar_refers_to(role: str) -> None:
    drawn = waterfall(views_of([a_call(1, role=role)], active=False), NOON)

    (filled,) = [one.get("fill") or "" for one in parsed(drawn).iter() if one.get("class") == "bar"]
    assert filled.removeprefix("url(#").removesuffix(")") in {one.get("id") for one in parsed(drawn).iter()}


OUTCOMES = st.lists(st.sampled_from(("applied", "nothing", "back")), min_size=1, max_size=12)


@given(OUTCOMES)
def test_what_stands_keeps_to_its_line_and_what_was_taken_back_leaves_it(outcomes: list[str]) -> None:
    entries = []
    for number, outcome in enumerate(outcomes, 1):
        entries += [opened(number), closed(number, chosen=None if outcome == "nothing" else 0)]
        entries += [backtracked()] if outcome == "back" else []

    nodes = placed(history_of(events_of(*entries)).turns)

    assert [node.row for node in nodes] == list(range(1, len(outcomes) + 1))
    assert [node.lane > 0 for node in nodes] == [outcome == "back" for outcome in outcomes]
    assert all(node.parent < node.row for node in nodes)


def test_a_step_after_a_backtrack_goes_on_from_the_one_before() -> None:
    entries = (opened(1), closed(1), opened(2), closed(2), backtracked(), opened(3), closed(3))

    first, second, third = history_of(events_of(*entries)).turns

    assert (first.taken_back, second.taken_back, third.taken_back) == (False, True, False)
    assert (first.parent, second.parent, third.parent) == (None, 1, 1)


def test_candidates_of_a_beam_are_square_and_failed_ones_are_crossed() -> None:
    failed = candidate("it1/s2/steps.2", checks=(a_check("fail", target="step"),))
    found = [candidate("it1/s2/beam2.1.1"), failed, candidate("it1/s2/steps.3")]

    drawn = parsed(tree(history_of(events_of(opened(1), closed(1, found))).turns))

    dots = [(one.tag.rpartition("}")[2], one.get("class")) for one in drawn.iter() if "dot" in (one.get("class") or "")]
    assert dots == [("rect", "dot chosen"), ("path", "dot failed"), ("circle", "dot other")]


def test_candidates_beyond_the_room_are_counted() -> None:
    found = [candidate(f"it1/s2/steps.{number}") for number in range(MOST_DOTS + 3)]

    drawn = tree(history_of(events_of(opened(1), closed(1, found))).turns)

    assert "+3" in parsed(drawn).itertext()


@given(
    st.lists(
        st.fixed_dictionaries({"predicted": st.floats(0, 1), "observed": st.floats(0, 1), "n": st.integers(1, 50)}),
        max_size=10,
    )
)
def test_every_bin_is_a_dot_inside_the_field(bins: list[dict[str, float]]) -> None:
    drawn = parsed(reliability(bins, "plot"))

    dots = [one for one in drawn.iter() if one.get("class") == "dot"]
    assert len(dots) == len(bins)
    assert all(40 <= float(one.get("cx") or -1) <= 280 and 10 <= float(one.get("cy") or -1) <= 250 for one in dots)


@given(st.text(), st.text())
def test_neither_text_nor_attribute_leaves_its_place(text: str, attribute: str) -> None:
    found = parsed(element("text", text, title=attribute))

    assert list(found) == []
    assert set(found.keys()) == {"title"}


def test_a_bar_never_leaves_its_trough() -> None:
    assert 'width="100%"' in bar(7.0, "full").split("fill", 1)[1]
    assert 'width="0%"' in bar(-1.0, "empty")
