"""What counts as the answer of a reply, and which answers count as one."""

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier.answers import exact_number, extract_answer, normal_form, vote_key


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"answer": "Paris"}', "Paris"),
        ('{"steps": [], "answer": 42.0}', "42.0"),
        ('{"answer": 1e3}', "1e3"),
        ('{"answer": true}', "true"),
        ('{"Final_Answer": "x"}', "x"),
        ('{"answer": [1.50, "a", {"b": null}]}', '[1.50, "a", {"b": null}]'),
        ('Sure:\n```json\n{"answer": "7",\n "why": "{"}\n```\nbye', "7"),
        ('[{"text": "a", "answer": "1"}, {"text": "b", "answer": "2"}]', "2"),
        ('{"result": {"answer": "deep"}}', "deep"),
        ('{"answer": "1"} then {"answer": "2"} then {"other": 3}', "2"),
        ('{broken {"answer": "whole"}', "whole"),
        (r'{"answer": "\frac{1}{2}"}', r"\frac{1}{2}"),
        (r'{"answer": "5\text{ km}"}', r"5\text{ km}"),
        (r'{"answer": "a\nb"}', "a\nb"),
        ('{"answer": "1"} \\boxed{2}\nFinal answer: 3', "1"),
        ('{"answer": null} \\boxed{2}\nFinal answer: 3', "2"),
        ('{"answer": "..."}\nAnswer: 3', "3"),
        ('{"why": "he said "no"", "answer": "8"}', "8"),
        ('{"why": "he said "no"", "answer": -3/8\n}', "-3/8"),
        ('{"why": "he said "no"", "answer": null}', None),
        ('{"why": "he said "no"", "answer": "cut of', None),
        ('{"why": "he said "no"", "answer": 3', None),
        ('{"answer": "5*83**"}', "5*83**"),
        ('{"answer": ' + '{"a": ' * 2_000, None),
        (r"\boxed{1} so \boxed{\frac{1}{2}}", r"\frac{1}{2}"),
        (r"\boxed{ {a} } and \boxed{cut off", "{a}"),
        (r"\boxed{\{1, 2\}}", r"\{1, 2\}"),
        (r"\boxed{\text{yes}}", "yes"),
        (r"\boxed{}", None),
        ("Final answer: 42", "42"),
        ("final ANSWER : 42", "42"),
        ("**Final answer:** 42", "42"),
        ("**Final answer**: 42", "42"),
        ("**Final answer: 42**", "42"),
        ("- Final answer: **42**", "42"),
        ("### Final Answer\n\n42\nmore", "42"),
        ("Final answer:\n42", "42"),
        ("Final answer:\n```python\na = 1\nb = 2\n```", "a = 1\nb = 2"),
        ("Final answer: $42$", "42"),
        ("Final answer: 1\nno\nFinal answer: 2", "2"),
        ("Answer: 1\nFinal answer: 2\nAnswer: 3", "2"),
        ("Answer: 1\nAnswer: 3", "3"),
        ("Konečná odpoveď: 4 litre", "4 litre"),
        ("Réponse finale : 4", "4"),
        ("Endgültige Antwort: 4", "4"),
        ("Respuesta final: 4", "4"),
        ("Окончательный ответ: 4", "4"),
        ("最终答案：4", "4"),
        ("最終的な答え：4", "4"),
        ("최종 답변: 4", "4"),
        ("الإجابة النهائية: 4", "4"),
        ("अंतिम उत्तर: 4", "4"),
        ("Nihai cevap: 4", "4"),
        ("Câu trả lời cuối cùng: 4", "4"),
        ("<think>Final answer: 3</think>\nAnswer: 4", "4"),
        ("Answer: 3</think>\nno more", None),
        ("<think>Final answer: 3", None),
        ("The answer is 42", None),
        ("Answers vary: 42", None),
        ("Answer\n42", None),
        ("Final answer:", None),
        ("Final answer:\nAnswer: 5", "5"),
        ("", None),
        ("I cannot say.", None),
    ],
)
def test_the_answer_is_what_the_reply_states(reply: str, answer: str | None) -> None:
    assert extract_answer(reply) == answer


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("18", "18"),
        ("18.0", "18"),
        ("1,018", "1018"),
        (" Yes ", "yes"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("e\u0301", "é"),
        ("٤٢", "42"),
        ("５²", "５²"),  # a square is no digit
        ("x²", "x²"),
        ("-0.0", "0"),
        ("1234567", "1234570"),
        ("nan", "nan"),
        ("1_000", "1_000"),
        ("1,5", "1,5"),
        ("two  words", "two  words"),
    ],
)
def test_the_normal_form_is_the_text_or_the_value(text: str, form: str) -> None:
    assert normal_form(text) == form


SAME = [
    [
        "1/2",
        "0.5",
        ".50",
        "50%",
        "50 %",
        "50 percent",
        r"50\%",
        "2/4",
        r"$\frac{1}{2}$",
        r"\frac12",
        r"\boxed{\dfrac{1}{2}}",
        "x = 1/2",
        r"5 \times 10^{-1}",
        "0,5",
        "**0.5**",
        "0.5.",
    ],
    ["-1/2", "-0.5", "−0.5", r"-\frac{1}{2}"],
    ["1.75", "7/4", "1 3/4", r"1\frac{3}{4}"],
    ["1018", "1,018", "1018.0", "1 018", "１０１８", "1{,}018", r"1\,018", "$1018$"],
    ["1"],
    ["50"],
    ["4"],
    ["4 litres", "4 L", "4.0 liters", "4L", r"4\text{ L}", r"4\,\text{L}", "$4$ litres.", "4 литра"],
    ["4 gallons", "4.0 Gallons"],
    ["25 square units", "25.0 square  units."],
    ["$5", "5 dollars", "5 USD", r"\$5", "5.00 $"],
    ["90°", r"90^\circ", "90 degrees", r"$90^{\circ}$"],
    [
        "2021-05-01",
        "May 1, 2021",
        "1 May 2021",
        "1st of May 2021",
        "2021/5/1",
        "2021年5月1日",
        "1. mája 2021",
        "01.05.2021",
    ],
    ["2021-12-25", "25/12/2021", "12/25/2021", "25 décembre 2021"],
    ["05/06/2021"],
    ["06/05/2021"],
    ["2021-13-01"],
    ["(B)", "B.", "b)", "B", "[B]", "**(B)**", r"\text{(B)}", r"$\textbf{(B)}$", "B:"],
    ["(C)", "c"],
    ["(B) Paris"],
    ["yes", "Yes.", "TRUE", "áno", "是", "**Yes**", "はい"],
    ["no", "False", "Nein", "否"],
    ["yes, 5 km"],
    ["Paris", "paris.", '"Paris"', "**paris**", "`Paris`", "“Paris”"],
    ["'5'", '"5"', "“5”"],
    ["'a  b'"],
    ["'a b'"],
    ["5. of them"],
    ["5"],
    ["'true'"],
    ["x²"],
    ["x2", "x2."],
    ["x^2", "x^{2}"],
    ["x^{ab}"],
    [r"\sqrt{2}", r"$\sqrt{2}$"],
    [r"\frac{\pi}{2}", "π/2", r"\(\frac{\pi}{2}\)"],
    [r"\frac{x+1}{2}", "(x+1)/2"],
    [r"\frac{1", r"$\frac{1$"],
    ["3:4"],
    ["1e400000000"],
    ["$5 and $6"],
]


@pytest.mark.parametrize("group", SAME, ids=lambda group: group[0])
def test_writings_of_one_answer_share_a_key(group: list[str]) -> None:
    assert {vote_key(text) for text in group} == {vote_key(group[0])}


def test_different_answers_keep_different_keys() -> None:
    """The unit keeps `4 litres` apart from `4`, else `4 litres` and `4 gallons` would meet there."""
    for one, other in combinations(SAME, 2):
        assert vote_key(one[0]) != vote_key(other[0]), (one[0], other[0])


@pytest.mark.parametrize(
    ("text", "value"), [(r"$\frac{3}{4}$", 0.75), ("**x = 42**", 42), (r"\boxed{1,234.5}", 1234.5)]
)
def test_a_number_is_found_under_its_markup(text: str, value: float) -> None:
    assert exact_number(text) == value


written = st.text() | st.text(alphabet=r"\frac{}12 3.,/$*()[]btextdo'`%=-٣é年月", max_size=24)


@given(written)
def test_the_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normal_form(normal_form(text)) == normal_form(text)


@given(written)
def test_equal_normal_forms_have_equal_vote_keys(text: str) -> None:
    for variant in (normal_form(text), f" {text}\n", text.casefold()):
        if normal_form(variant) == normal_form(text):
            assert vote_key(variant) == vote_key(text)


@given(written)
def test_no_reply_makes_the_search_fail(text: str) -> None:
    found = extract_answer(text)

    assert found is None or found.strip() == found != ""


@given(st.text(alphabet="abcdefgh XYZ,;", min_size=1).filter(str.strip))
def test_a_labelled_line_is_found_whatever_it_says(answer: str) -> None:
    assert extract_answer(f"So it goes.\n\nFinal answer: {answer}\n") == answer.strip()


@pytest.mark.parametrize(
    "unit",
    [r"\boxed{", '{"', '{"answer":', "answer:\n", "*", "$a ", r"\frac{", r"\frac{1}", "\\", "1,", "<think>", "'"],
)
def test_long_runs_of_markup_are_read_in_one_pass(unit: str) -> None:
    """Quadratic time would be minutes here, and the run would not end."""
    reply = unit * (200_000 // len(unit))

    found = extract_answer(reply)

    assert found is None or found in reply
    assert isinstance(vote_key(reply), str)
