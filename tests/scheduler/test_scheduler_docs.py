"""The documentation runs, and says the same in both languages."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "scheduler.md").read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.DOTALL)


def test_the_example_runs() -> None:
    (example,) = blocks(PAGE, "python")

    namespace: dict[str, object] = {}
    exec(compile(example, "docs/scheduler.md", "exec"), namespace)

    assert namespace["state"]


def test_the_formulas_are_identical_in_english_and_chinese() -> None:
    english = PAGE.split("## The algorithm")[1].split("## 算法")[0]
    chinese = PAGE.split("## 算法")[1].split("## The other policies")[0]

    assert blocks(english, "formula") == blocks(chinese, "formula") != []
