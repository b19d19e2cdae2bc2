"""Foreign text and numbers made fit to be shown on a page. Pure.

`shown` is the one gate for text: the templates and the drawings send every string through it before they escape it.
"""

import math
import re
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

from booster.redact import printable

_REORDERING: Final = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_NONCHARACTERS: Final = re.compile("[\ufdd0-\ufdef\ufffe\uffff]")
"""Code points that no document may hold."""

_UNITS: Final = ((86_400, "d"), (3600, "h"), (60, "min"))


def shown(value: Any) -> Any:
    """Return what a page shows of a value: text without control characters, marks that reorder text spelled out.

    What was rendered here already, and what is no text, is returned as it is.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    spelled = _REORDERING.sub(lambda mark: f"[U+{ord(mark.group()):04X}]", value)
    return _NONCHARACTERS.sub("", printable(spelled))


def line(text: str, limit: int) -> str:
    """Return a text on one line, with at most `limit` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else f"{flat[: limit - 1].rstrip()}…"


def clipped(text: str, limit: int) -> str:
    """Return the beginning of a text, and how much is left out."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit:,} more characters]"


def count(value: int | float) -> str:
    """Return a whole number with its thousands apart."""
    return f"{value:,.0f}"


def number(value: float | None) -> str:
    """Return a number for a table: at most three decimals, huge ones by their power of ten, a dash for none."""
    if value is None:
        return "–"
    if not math.isfinite(value):
        return str(value)
    if abs(value) >= 1_000_000:
        return f"{value:.1e}".replace("e+", "e").replace("e0", "e")
    return f"{round(value, 3) or 0.0:.3f}".rstrip("0").rstrip(".")


def percent(share: float) -> str:
    """Return a share in [0, 1] as a percentage."""
    return f"{100 * share:.0f} %"


def seconds(value: float) -> str:
    """Return a duration in the unit that fits."""
    if value < 0.9995:
        return f"{1000 * value:.0f} ms"
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    size, name = next((size, name) for size, name in _UNITS if whole >= size)
    smaller, its_name = {"d": (3600, "h"), "h": (60, "min"), "min": (1, "s")}[name]
    rest = whole % size // smaller
    return f"{whole // size} {name}" + (f" {rest} {its_name}" if rest else "")


def usd(value: float | None) -> str:
    """Return an amount of US dollars; an unknown price is no zero."""
    if value is None:
        return "unknown"
    return f"${value:.2f}" if value == 0 or value >= 1 else f"${value:.4f}"


def moment(at: str | None) -> float | None:
    """Return an ISO 8601 time as seconds since the epoch; None where there is none."""
    return datetime.fromisoformat(at).timestamp() if at else None


def iso(time: float) -> str:
    """Return seconds since the epoch as ISO 8601 in UTC."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def clock(at: str) -> str:
    """Return a time for people, in UTC."""
    return at[:19].replace("T", " ") + " UTC" if at else ""


def age(at: str, now: float) -> str:
    """Return how long ago something was, in its largest unit."""
    passed = max(0.0, now - (moment(at) or now))
    if passed < 60:
        return "just now" if passed < 5 else f"{passed:.0f} s ago"
    return next(f"{passed // size:.0f} {name} ago" for size, name in _UNITS if passed >= size)
