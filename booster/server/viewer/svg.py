"""Drawings as markup: one function makes every element, and no text gets past it unescaped. Pure.

Colours and fonts come from classes, so that a drawing follows the reader's colour scheme; positions are attributes, for the
content security policy allows no style attributes.
"""

from typing import Any

from markupsafe import Markup, escape

from booster.server.viewer.text import shown


def element(name: str, *children: str, **attributes: Any) -> Markup:
    """Return an SVG element.

    Args:
        name: Of the element.
        children: Markup as it is, anything else as text.
        attributes: Underscores stand for hyphens, one at the end is dropped (`class_`); those that are None are left out.
    """
    written = Markup("").join(
        Markup(' {}="{}"').format(key.rstrip("_").replace("_", "-"), _value(value))
        for key, value in attributes.items()
        if value is not None
    )
    inside = Markup("").join(escape(shown(child)) for child in children)
    return Markup("<{}{}>{}</{}>").format(name, written, inside, name)


def drawing(title: str, *children: str, width: Any, height: float, name: str, view: str | None = None) -> Markup:
    """Return a whole drawing that screen readers take for one picture with a title.

    Args:
        title: What it shows, in a sentence.
        children: Its elements.
        width: In pixels, or a percentage.
        height: In pixels.
        name: Prefix of its ids, unique on a page.
        view: Its `viewBox`, where it has one.
    """
    return element(
        "svg", element("title", title, id=f"{name}-title"), *children, class_=f"drawing {name}", width=width, height=height,
        viewBox=view, role="img", aria_labelledby=f"{name}-title", xmlns="http://www.w3.org/2000/svg",
    )  # fmt: skip


def share(value: float) -> str:
    """Return a share in [0, 1] as a percentage for a position."""
    return f"{_value(100 * min(1.0, max(0.0, value)))}%"


def bar(value: float, label: str, *, tone: str = "") -> Markup:
    """Return a small bar filled to a share in [0, 1]; `label` says the same in words."""
    return element(
        "svg", element("rect", class_="trough", width="100%", height=6, rx=3),
        element("rect", class_=f"fill {tone}".strip(), width=share(value), height=6, rx=3),
        class_="bar", width="100%", height=6, role="img", aria_label=label,
    )  # fmt: skip


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return shown(str(value))
