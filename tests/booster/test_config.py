"""The options of a solve: defaults, bounds, what is read leniently and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from booster.config import Config, Process, config_table, merged, settings_page
from booster.errors import UsageError

DEFAULTS = {
    "iterations": 8,
    "maxSteps": 16,
    "granularity": "auto",
    "scheduler": "auto",
    "select": "auto",
    "numCandidates": 5,
    "samples": 20,
    "lead": 3,
    "waveSize": 4,
    "topM": 2,
    "minImprovement": 0.01,
    "beamWidth": 1,
    "beamDepth": 2,
    "valueCalls": 0,
    "allowBacktrack": True,
    "maxBacktracks": 3,
    "wRules": 0.6,
    "wRedundancy": 0.25,
    "wConsistency": 0.15,
    "provider": None,
    "useSampling": None,
    "fastModel": None,
    "strongModel": None,
    "judgeModel": None,
    "models": [],
    "auditRate": 0.01,
    "samplingMaxTokens": 2000,
    "probeRate": 0.05,
    "contextWindow": 128_000,
    "namespace": "default",
}

BOUNDS = [
    ("iterations", 1, 64),
    ("maxSteps", 1, 64),
    ("numCandidates", 1, 16),
    ("samples", 1, 100),
    ("lead", 2, 4),
    ("waveSize", 1, 16),
    ("maxBacktracks", 0, 16),
    ("beamWidth", 1, 16),
    ("beamDepth", 1, 4),
    ("valueCalls", 0, 8),
    ("samplingMaxTokens", 16, 16_000),
    ("probeRate", 0, 1),
    ("contextWindow", 1000, 10_000_000),
]

PLAIN = st.fixed_dictionaries(
    {},
    optional={
        "numCandidates": st.integers(1, 16),
        "wRules": st.floats(0, 1),
        "allowBacktrack": st.booleans(),
        "useSampling": st.none() | st.booleans(),
        "select": st.sampled_from(["auto", "score", "judge", "vote"]),
        "models": st.lists(st.sampled_from(["openai/a", "b"]), max_size=16),
        "namespace": st.from_regex(r"[A-Za-z0-9_.-]{1,100}", fullmatch=True),
    },
)


def parsed(**given: Any) -> Config:
    config, warnings = Config.parse(given)
    assert warnings == []
    return config


def refused(**given: Any) -> UsageError:
    with pytest.raises(UsageError) as caught:
        Config.parse(given)
    assert "\n" not in str(caught.value)
    return caught.value


def test_the_defaults_are_the_documented_ones() -> None:
    """They are a promise: results are compared across releases."""
    assert Config().plain() == DEFAULTS


@pytest.mark.parametrize(("name", "low", "high"), BOUNDS)
def test_bounds_are_inclusive_and_named_in_the_refusal(name: str, low: int, high: int) -> None:
    """Both ends are taken; one beyond is refused with field, value and range."""
    assert parsed(**{name: low}).plain()[name] == low
    assert parsed(**{name: high}).plain()[name] == high
    for outside in (low - 1, high + 1):
        error = refused(**{name: outside})
        assert error.field == name
        assert str(error).startswith(f"{name}: {outside} is not allowed")
        assert str(low) in str(error)
        assert str(high) in str(error)


@pytest.mark.parametrize("name", ["beamWidth", "valueCalls"])
def test_a_depth_may_have_a_number_of_its_own(name: str) -> None:
    """A list, or its JSON text as environments have it; every entry keeps the bounds of the single number."""
    assert parsed(**{name: [8, "3", 3]}).plain()[name] == [8, 3, 3]
    assert parsed(**{name: "[2, 1]"}).plain()[name] == [2, 1]
    for wrong in ([], [1, 99], [1.5], ["x"], True, {"a": 1}):
        assert refused(**{name: wrong}).field == name


@pytest.mark.parametrize("name", ["wRules", "wRedundancy", "wConsistency", "minImprovement"])
@pytest.mark.parametrize("value", [-0.01, 1.01, float("nan"), float("inf"), 10**400, "nan", "1_0", True])
def test_weights_outside_0_to_1_are_refused(name: str, value: object) -> None:
    """NaN would make every comparison false, without a word."""
    assert f"{name}: " in str(refused(**{name: value}))
    assert "a number from 0 to 1" in str(refused(**{name: value}))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"numCandidates": "8"}, 8),
        ({"numCandidates": " +8 "}, 8),
        ({"numCandidates": 8.0}, 8),
        ({"candidates": "8"}, 8),
        ({"num_candidates": 8}, 8),
        ({"wRules": "0.5"}, 0.5),
        ({"wRules": "5e-1"}, 0.5),
        ({"wRules": 1}, 1.0),
        ({"allowBacktrack": "False"}, False),
        ({"useSampling": "true"}, True),
        ({"models": '["a", "b"]'}, ["a", "b"]),
        ({"models": ("a",)}, ["a"]),
    ],
)
def test_what_clients_send_as_text_is_read(given: dict[str, Any], expected: object) -> None:
    """Several clients send every argument as a string."""
    name = {"candidates": "numCandidates", "num_candidates": "numCandidates"}.get(next(iter(given)), next(iter(given)))

    assert parsed(**given).plain()[name] == expected


@pytest.mark.parametrize(
    "given",
    [
        {"numCandidates": "eight"},
        {"numCandidates": "8.5"},
        {"numCandidates": 8.5},
        {"numCandidates": True},
        {"numCandidates": "²"},
        {"numCandidates": "9" * 5000},
        {"numCandidates": [8]},
        {"topM": 0},
        {"iterations": object()},
        {"allowBacktrack": 1},
        {"allowBacktrack": "yes"},
        {"models": "a"},
        {"models": '["a"'},
        {"models": ["a", 3]},
        {"models": ["a b"]},
        {"models": ["a"] * 17},
        {"models": {"a": 1}},
        {"select": "jury"},
        {"provider": "anthropic"},
        {"fastModel": ""},
        {"fastModel": 3},
        {"namespace": ""},
        {"namespace": "a/b"},
        {"namespace": "a\n"},
        {"namespace": "a" * 101},
    ],
)
def test_anything_else_is_refused_with_the_field(given: dict[str, Any]) -> None:
    """No guessing: a value that does not fit is an error in one line."""
    name = next(iter(given))

    assert refused(**given).field == name
    assert len(str(refused(**given))) < 300


def test_a_refusal_repeats_no_key_and_no_escape_sequence() -> None:
    """Someone pasted a key into the wrong field; the error goes into logs."""
    text = str(refused(fastModel="sk-abcdefghij0123456789 \x1b[31m"))

    assert "0123456789" not in text
    assert "\x1b" not in text


def test_null_counts_as_not_given() -> None:
    """Clients fill optional fields with null."""
    base = parsed(numCandidates=7, useSampling=False)

    config, warnings = merged(base, {"numCandidates": None, "useSampling": None, "wRules": None})

    assert config == base
    assert warnings == []


def test_one_option_by_two_names_is_refused() -> None:
    """Which of the two was meant cannot be known."""
    assert "given twice" in str(refused(candidates=3, numCandidates=4))


def test_fewer_candidates_clip_the_default_top_m() -> None:
    """Whoever asks for one candidate need not know that a beam exists."""
    assert parsed(numCandidates=1).top_m == 1


def test_a_top_m_that_was_asked_for_is_not_clipped_but_refused() -> None:
    """The range in the text follows the candidates."""
    assert "from 1 to numCandidates (2)" in str(refused(numCandidates=2, topM=3))


def test_a_call_with_fewer_candidates_clips_the_top_m_of_a_file() -> None:
    """The file's value was right where it stood; the call must not fail because of it."""
    base = parsed(topM=4)

    assert merged(base, {"numCandidates": 2})[0].top_m == 2
    with pytest.raises(UsageError, match="topM"):
        merged(base, {"numCandidates": 2, "topM": 4})


def test_the_default_top_m_comes_back_with_more_candidates() -> None:
    """A clipped default is still a default."""
    few = parsed(numCandidates=1)

    assert merged(few, {"numCandidates": 5})[0].top_m == 2


def test_unknown_names_are_warnings_with_the_nearest_known_one() -> None:
    """A misspelt option must not pass in silence, and must not stop a solve."""
    config, warnings = Config.parse({"numCandidtes": 3, "xyzzy": 1, "wRules": 0.5})

    assert config == parsed(wRules=0.5)
    assert warnings == [
        "unknown option \"numCandidtes\" is ignored; did you mean 'numCandidates'?",
        'unknown option "xyzzy" is ignored',
    ]


def test_a_flood_of_unknown_names_is_summed_up() -> None:
    """The configuration of another program has hundreds of them."""
    _, warnings = Config.parse({f"key{index}": 1 for index in range(500)})

    assert len(warnings) == 11
    assert warnings[-1] == "490 more unknown options are ignored"


def test_options_of_the_process_are_refused_a_place_in_a_call() -> None:
    """A call of a model must not move the directory that results are written to."""
    config, warnings = Config.parse({"outputRoot": "/", "journal.url": "memory:"})

    assert config == Config()
    assert len(warnings) == 2
    assert all("whole process" in warning for warning in warnings)


@given(PLAIN)
def test_plain_values_read_back_as_the_same_options(given: dict[str, Any]) -> None:
    """The echo of a result, stored and read again, is the configuration that ran."""
    config, _ = Config.parse(given)

    again, warnings = Config.parse(json.loads(json.dumps(config.plain())))

    assert again == config
    assert warnings == []


@given(PLAIN, PLAIN)
def test_the_last_layer_wins_and_the_others_stay(lower: dict[str, Any], upper: dict[str, Any]) -> None:
    """Merging option by option equals reading the merged mapping, but for the clipped topM."""
    base, _ = Config.parse(lower)
    given = {name: value for name, value in upper.items() if value is not None}

    config, _ = merged(base, upper)

    expected = Config.parse(lower | given)[0]
    assert config == expected


def test_options_cannot_be_changed_in_place() -> None:
    """Concurrent solves share one set of defaults."""
    config = Config()

    with pytest.raises(ValidationError, match="frozen"):
        config.num_candidates = 3


def test_prices_need_both_directions_and_no_negative_number() -> None:
    """A price that is half known would make costs look smaller than they are."""
    process, _ = Process.parse({"prices": '{"m": {"inputPerMTok": "0.25", "outputPerMTok": 2}}'})

    assert process.prices["m"].input_per_m_tok == 0.25
    wrong_prices: tuple[object, ...] = (
        {"m": {"inputPerMTok": 1}},
        {"m": {"inputPerMTok": -1, "outputPerMTok": 1}},
        {"m": 3},
        [],
    )
    for wrong in wrong_prices:
        with pytest.raises(UsageError, match=r"^prices"):
            Process.parse({"prices": wrong})


def test_the_settings_page_is_the_printed_one() -> None:
    """`python -m booster.config > docs/settings.md` mends this test."""
    page = Path(__file__).parents[2] / "docs" / "settings.md"

    assert page.read_text(encoding="utf-8") == settings_page()


def test_the_table_has_a_meaning_for_every_option() -> None:
    """Name, variable, default, allowed values, meaning: no cell is empty."""
    rows = [line.strip("| ").split(" | ") for line in config_table().splitlines()[2:]]

    assert [row[0] for row in rows] == [f"`{name}`" for name in DEFAULTS]
    assert all(len(row) == 5 and all(row) for row in rows)
