"""Which models a cascade is of, and what they charge. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from booster.config import Config


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Models of a cascade."""

    cheap: tuple[str, ...]
    """Asked in turn."""
    strong: str

    @property
    def key(self) -> str:
        """Name under which the learnt state is kept."""
        return f"{'+'.join(self.cheap)}>{self.strong}"


def pair_of(config: Config) -> Pair | None:
    """Return the cheap and the strong model where the options name both and they differ.

    `fastModel` is the cheap one; without it, the first two of `models` take turns.
    """
    strong = config.strong_model
    cheap = (config.fast_model,) if config.fast_model else config.models[:2]
    named = tuple(model for model in cheap if model != strong)
    return Pair(cheap=named, strong=strong) if strong and named else None


def price_of(prices: Mapping[str, tuple[float, float]], model: str) -> tuple[float, float] | None:
    """Return a model's prices of a million tokens in and out, by its name with or without its provider; None = not known."""
    return prices.get(model) or prices.get(model.partition("/")[2])
