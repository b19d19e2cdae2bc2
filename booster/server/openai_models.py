"""The models that OpenAI clients can name: `booster`, and `booster/MODEL` for each model that is configured.

The first leaves it to the options which models are asked; the others ask one model for everything that is an answer.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from booster.config import Config
from providers.endpoints import ORIGINS, addresses
from providers.types import SIMULATED_PREFIX

BOOSTER: Final = "booster"
"""The model that stands for whatever is configured; prefix of all others."""

OWNER: Final = "reasoning-booster"


@dataclass(frozen=True, kw_only=True, slots=True)
class Served:
    """A model that clients can name."""

    id: str
    owner: str
    options: Mapping[str, Any]
    """Of a solve: what makes all its answers come from this model."""

    def document(self) -> dict[str, Any]:
        """Return its entry in OpenAI's list of models."""
        return {"id": self.id, "object": "model", "created": 0, "owned_by": self.owner}


def served_models(sources: Sequence[Mapping[str, Any]], config: Config) -> dict[str, Served]:
    """Return the models by their ids, `booster` first.

    Args:
        sources: Configured endpoints as `Booster.describe_sources` gives them.
        config: Options that hold for every solve; the models they name are served too.
    """
    found = {BOOSTER: Served(id=BOOSTER, owner=OWNER, options={})}
    for source in sources:
        name, model = str(source["provider"]), str(source["model"])
        plain, whole = f"{BOOSTER}/{model}", f"{BOOSTER}/{name}/{model}"
        # Two endpoints may have models of one name: the first has it for its own, the other only with its address.
        found.setdefault(
            whole if plain in found else plain, _of_endpoint(whole if plain in found else plain, name, model)
        )
    for named in (*config.models, config.fast_model, config.strong_model):
        if named:
            served = Served(id=f"{BOOSTER}/{named}", owner=_owner(named, OWNER), options=_only(named))
            found.setdefault(served.id, served)
    return found


def _of_endpoint(served_id: str, name: str, model: str) -> Served:
    origin = next((origin for origin in ORIGINS if addresses(origin.name, name)), None)
    if origin is None:
        return Served(id=served_id, owner=_owner(model, name), options=_only(model))
    knob = next(iter((*origin.aliases, origin.name)))
    # Nobody who names a model wants to be answered by another one, so no other endpoint may take its place.
    options = {**_only(f"{name}/{model}"), "provider": knob}
    return Served(id=served_id, owner=_owner(model, name), options=options)


def _only(model: str) -> dict[str, Any]:
    return {"models": [model], "fastModel": model, "strongModel": model}


def _owner(model: str, otherwise: str) -> str:
    return "simulated" if model.startswith(SIMULATED_PREFIX) else otherwise
