"""How the figures look: a Times-like serif, and colours that stay apart when they are printed in grey."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

DPI = 300
SERIFS = ("Times New Roman", "Liberation Serif", "Tinos", "Nimbus Roman", "TeX Gyre Termes", "STIXGeneral")
"""Times New Roman, faces of the same metrics, and a Times-like one that comes with matplotlib."""
INK, GUIDE = "#222222", "#9a9a9a"


@dataclass(frozen=True, slots=True)
class Look:
    """One arm: colour, line and marker; any one of the three tells it from the others of a figure."""

    colour: str
    line: str | tuple[int, tuple[int, ...]]
    marker: str
    hatch: str = ""


LOOKS = {
    "regime": Look("#10305c", "-", "o"),
    "regime-target": Look("#4a6fa5", (0, (5, 1)), "P"),
    "auction-threshold": Look("#a8431d", "--", "s"),
    "auction-bid": Look("#e08f45", "-.", "^"),
    "logistic-reset": Look("#4f9d69", (0, (3, 1, 1, 1, 1, 1)), "D"),
    "router": Look("#bdb3d4", (0, (1, 1)), "v"),
    "router-online": Look("#bdb3d4", (0, (1, 1)), "v"),
    "router-frozen": Look("#cfc8e0", (0, (1, 2)), ">"),
    "static": Look("#d4cfc4", (0, (1, 3)), "<"),
    "always-s1": Look("#8a8a8a", (0, (6, 2)), "X", "//"),
    "always-s2": Look("#c9c9c9", (0, (2, 2)), "*", "\\\\"),
    "bayes-filter": Look("#ffffff", (0, (1, 1)), "h", ".."),
    "oracle": Look("#ffffff", ":", "p", "xx"),
}


def serif(installed: Collection[str]) -> str:
    """Return the first of `SERIFS` that is installed; the last one always is."""
    return next((name for name in SERIFS if name in installed), SERIFS[-1])


def luminance(colour: str) -> float:
    """Return how light a `#rrggbb` colour is in grey: CIE L* over 100, in [0, 1]."""
    r, g, b = (_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5))
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    return (116 * y ** (1 / 3) - 16) / 100 if y > 0.008856 else 9.033 * y


def _linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else float(((value + 0.055) / 1.055) ** 2.4)


def apply(font: str) -> None:
    """Set matplotlib's defaults."""
    import matplotlib as mpl

    mpl.rcParams.update(
        {
            "font.family": "serif",
            "font.serif": [font],
            "mathtext.fontset": "stix",
            "font.size": 10,
            "axes.titlesize": 11,
            "axes.labelsize": 10,
            "axes.edgecolor": INK,
            "axes.labelcolor": INK,
            "axes.titlelocation": "left",
            "axes.titlepad": 8,
            "axes.linewidth": 0.8,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.unicode_minus": False,
            "xtick.color": INK,
            "ytick.color": INK,
            "xtick.labelsize": 9,
            "ytick.labelsize": 9,
            "text.color": INK,
            "legend.fontsize": 8.5,
            "legend.frameon": False,
            "grid.color": "#e6e6e6",
            "grid.linewidth": 0.6,
            "hatch.linewidth": 0.6,
            "lines.linewidth": 1.5,
            "lines.markersize": 4.5,
            "figure.dpi": 100,
            "savefig.dpi": DPI,
        }
    )


def bar_style(arm: str) -> dict[str, Any]:
    """Return fill and edge of an arm's bar; bounds and trivial arms are hatched."""
    look = LOOKS[arm]
    return {"color": look.colour, "edgecolor": INK, "linewidth": 0.7, "hatch": look.hatch}


def line_style(arm: str) -> dict[str, Any]:
    """Return colour, line and marker of an arm's curve; white ones are drawn in ink."""
    look = LOOKS[arm]
    colour = INK if look.colour == "#ffffff" else look.colour
    return {
        "color": colour,
        "linestyle": look.line,
        "marker": look.marker,
        "markerfacecolor": look.colour,
        "markeredgecolor": INK,
        "markeredgewidth": 0.5,
        "linewidth": 2.2 if arm == "regime" else 1.4,
        "zorder": 5 if arm == "regime" else 3,
    }


def point_style(arm: str, *, size: float = 34) -> dict[str, Any]:
    """Return colour and marker of an arm's point in a scatter plot."""
    look = LOOKS[arm]
    return {
        "c": look.colour,
        "marker": look.marker,
        "edgecolors": INK,
        "linewidths": 0.6,
        "s": size,
        "zorder": 5 if arm == "regime" else 4,
    }
