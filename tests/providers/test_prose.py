"""Lists in prose: found by structure alone, in any language."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from providers.list_markers import Kind, marker_of
from providers.prose import parse_prose_to_proposals
from providers.types import Proposal

WORDS = [
    "weigh the crate",
    "naplň väčší džbán",
    "量空箱子再记录",
    "взвесь пустой ящик",
    "زن الصندوق الفارغ",
    "5 kg onto the scale",
]
MARKS: dict[str, Callable[[int], str]] = {
    "dot": lambda n: f"{n}. ",
    "parenthesis": lambda n: f"{n}) ",
    "both": lambda n: f"({n}) ",
    "label": lambda n: f"Krok {n}: ",
    "bold label": lambda n: f"**Step {n}:** ",
    "heading": lambda n: f"### {n}. ",
    "chinese": lambda n: f"步骤{n}：",
    "korean": lambda n: f"{n}단계: ",
    "keycap": lambda n: f"{n}\ufe0f\u20e3 ",
    "circled": lambda n: f"{chr(0x245F + n)} ",
    "han": lambda n: f"{'一二三四五六七八九'[n - 1]}、",
    "ordinal step": lambda n: f"第{n}步：",
    "letter": lambda n: f"{'abcdefghi'[n - 1]}) ",
    "roman": lambda n: f"{('i', 'ii', 'iii', 'iv', 'v', 'vi', 'vii', 'viii', 'ix')[n - 1]}. ",
    "dash": lambda n: "- ",
    "dot bullet": lambda n: "• ",
    "checkbox": lambda n: "- [ ] ",
}


def texts(prose: str) -> list[str]:
    """Return only the texts of the proposals."""
    return [proposal.text for proposal in parse_prose_to_proposals(prose)]


@pytest.mark.parametrize("mark", MARKS)
@given(written=st.lists(st.sampled_from(WORDS), min_size=2, max_size=6, unique=True), spaced=st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_list_is_read_whatever_its_marks_and_language(mark: str, written: list[str], spaced: bool) -> None:
    """The same items come back, with or without text around them and blank lines between them."""
    listed = ("\n\n" if spaced else "\n").join(MARKS[mark](n) + text for n, text in enumerate(written, 1))

    assert texts(listed) == written
    assert texts(f"Here is a plan:\n\n{listed}\n\nGood luck!") == written


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab1. \n\t-*•#|:()[]<>/`\"'第一步①，。 Krok:"), max_size=200))
def test_no_prose_raises(prose: str) -> None:
    """Any mixture of marks gives clean proposals."""
    for proposal in parse_prose_to_proposals(prose):
        assert proposal.text == proposal.text.strip() != ""


@pytest.mark.parametrize("value", [None, 3, ["1. a", "2. b"]])
def test_anything_but_a_string_counts_as_empty(value: object) -> None:
    """The caller need not check."""
    assert parse_prose_to_proposals(value) == []  # type: ignore[arg-type]  # the point of the test


def test_the_limit_keeps_the_first_items() -> None:
    """Order is the order written."""
    assert parse_prose_to_proposals("1. Weigh it.\n2. Load it.\n3. Lift it.", limit=2) == [
        Proposal(text="Weigh it."),
        Proposal(text="Load it."),
    ]


@pytest.mark.parametrize(
    "item",
    [
        "1. Weigh it.\n   Rationale: tare",
        "1. Weigh it. Rationale: tare",
        "1. Weigh it. (Reason: tare)",
        "1. **Weigh it.** tare",
        "1. Weigh it. — tare",
        "1. **Weigh it.** — tare",
        "1. Weigh it.\n   tare",
        "1. Weigh it.\n   - *Rationale:* tare",
        '1. "Weigh it." - tare',
        '1. text: "Weigh it.", rationale: "tare"',
        "1.\nText: Weigh it.\nRationale: tare",
        "- text: Weigh it.\n  rationale: tare",
        "Text: Weigh it.\nRationale: tare",
        "### Step 1\n**Action:** Weigh it.\n**Why:** tare",
        "<step rationale='tare'>Weigh it.</step>",
        "| Step | Why |\n|---|---|\n| Weigh it. | tare |",
        "Step\tReason\nWeigh it.\ttare",
    ],
)
def test_the_reason_of_an_item_is_found(item: str) -> None:
    """Below the item, on its line, in bold, in fields, in a column."""
    assert parse_prose_to_proposals(item) == [Proposal(text="Weigh it.", rationale="tare")]


def test_wrapped_lines_belong_to_the_text_and_details_to_the_rationale() -> None:
    """A sentence that goes on in lower case is one sentence."""
    prose = "1. Weigh the\n   empty crate.\n   - twice\n   - slowly\n2. Load it."

    assert parse_prose_to_proposals(prose) == [
        Proposal(text="Weigh the empty crate.", rationale="twice slowly"),
        Proposal(text="Load it."),
    ]


def test_an_answer_field_below_an_item_is_its_answer() -> None:
    """YAML and labelled blocks carry answers too."""
    assert parse_prose_to_proposals("- text: Weigh it.\n- text: Read it.\n  answer: 42") == [
        Proposal(text="Weigh it."),
        Proposal(text="Read it.", answer="42"),
    ]


@pytest.mark.parametrize(
    "prose",
    [
        "The jug holds 5.0 litres.\n3.5 litres remain.",
        "3.5 litres go in.\n3.6 litres come out.",
        "It opened in\n1984. Then it closed.",
        "10:30 we start.\n11:15 we stop.",
        "We use equation (1) and then equation (2).",
        "A. Smith weighed it.",
        "The load is 12 kg - or so - and not more.",
        "---\n***\n- - -",
        "| x | y |\n|---|---|\n| 1 | 2 |",
        "```python\nx = 1  # 1. not a step\n```",
        "<html><body><ul><li>Try again.</li><li>Go home.</li></ul></body></html>",
        "Vec 1 sa nedá spraviť.",
        "抱歉，我无法协助完成这个请求。",
    ],
)
def test_running_text_and_pages_list_nothing(prose: str) -> None:
    """Decimals, years, references, initials, dashes, rules, numbers, code and error pages are no lists."""
    assert parse_prose_to_proposals(prose) == []


@pytest.mark.parametrize(
    ("line", "kind", "number", "body"),
    [
        ("1. a", Kind.NUMBER, 1, "a"),
        ("12) a", Kind.NUMBER, 12, "a"),
        ("１．a", Kind.NUMBER, 1, "a"),
        ("٣. a", Kind.NUMBER, 3, "a"),
        ("十二、a", Kind.NUMBER, 12, "a"),
        ("Ⅳ. a", Kind.NUMBER, 4, "a"),
        ("🔟 a", Kind.NUMBER, 10, "a"),
        ("Step 2/3: a", Kind.LABEL, 2, "a"),
        ("**Krok 3** – a", Kind.LABEL, 3, "a"),
        ("第十步：a", Kind.LABEL, 10, "a"),
        ("- Step 4: a", Kind.LABEL, 4, "a"),
        ("1.2 a", Kind.DECIMAL, 2, "a"),
        ("b) a", Kind.LETTER, None, "a"),
        ("✅ a", Kind.BULLET, None, "a"),
        ("## a", Kind.HEADING, None, "a"),
    ],
)
def test_a_line_shows_its_marker(line: str, kind: Kind, number: int | None, body: str) -> None:
    """Kind, number and the text that is left."""
    marker = marker_of(line)

    assert marker is not None
    assert (marker.kind, marker.number, marker.body) == (kind, number, body)


@pytest.mark.parametrize("line", ["5L jug", "1984. a", "²a", "½ cup", "-5 degrees", "e.g. a", "Answer: 4", "10:30 a"])
def test_running_text_has_no_marker(line: str) -> None:
    """Numbers that measure something do not number a list."""
    assert marker_of(line) is None
