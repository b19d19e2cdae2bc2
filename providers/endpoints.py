"""Where models are reached: a table of what differs between vendors, and the endpoints a user configured.

What a vendor does differently stands in `PROFILES` as data and nowhere as an `if`; facts are the vendors' own
documentation as of 2026-11. What no table knows is learnt from the server's answer (`providers.parameters`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Literal
from urllib.parse import SplitResult, urlsplit

from providers.types import SIMULATED_PREFIX

CapParameter = Literal["max_tokens", "max_completion_tokens"]

_LOCAL_HOSTS = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0", "host.docker.internal"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """What one vendor's `/chat/completions` does differently from the plain OpenAI protocol."""

    name: str
    host: str = ""
    """Host of the vendor's base URL; empty for the profile of every unknown host."""
    path: str = "/v1"
    """Path of the API on that host, for a base URL that was given without one."""
    cap: CapParameter = "max_tokens"
    """Name of the upper bound of the reply in tokens."""
    max_temperature: float = 2.0
    """Highest temperature the server takes; a higher one is lowered to it."""
    refused: frozenset[str] = frozenset()
    """Request parameters that the server answers with status 400."""
    vendor_ids: bool = False
    """Model ids of this server begin with a vendor's name (`openai/gpt-oss-120b`), so no such prefix is ours."""
    accounts: bool = False
    """Whether the server is told the organisation and the project that pay."""


GENERIC = Profile(name="openai-compatible")
"""vLLM, llama.cpp, LM Studio, Ollama and every host that the table does not know."""

PROFILES: tuple[Profile, ...] = (
    Profile(name="openai", host="api.openai.com", cap="max_completion_tokens", accounts=True),
    Profile(name="cerebras", host="api.cerebras.ai", cap="max_completion_tokens"),
    Profile(name="anthropic", host="api.anthropic.com", max_temperature=1.0),
    Profile(name="gemini", host="generativelanguage.googleapis.com", path="/v1beta/openai"),
    Profile(name="openrouter", host="openrouter.ai", path="/api/v1", vendor_ids=True),
    Profile(
        name="groq",
        host="api.groq.com",
        path="/openai/v1",
        refused=frozenset({"logprobs", "top_logprobs", "logit_bias"}),
        vendor_ids=True,
    ),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """One of the places in the settings where a user may configure an endpoint."""

    name: str
    """As diagnostics show it."""
    prefix: str
    """Of its settings: `{prefix}_API_KEY`, `{prefix}_MODEL`, `{prefix}_BASE_URL`."""
    base_url: str
    """Where nothing else is set; empty = there is no default."""
    model: str
    """Where nothing else is set."""
    aliases: tuple[str, ...] = ()
    """Further names by which a `provider/model` id may address it."""
    needs_key: bool = True
    """Whether it counts as configured by its key; otherwise by its base URL."""


ORIGINS: tuple[Origin, ...] = (
    Origin(name="cerebras", prefix="CEREBRAS", base_url="https://api.cerebras.ai/v1", model="gpt-oss-120b"),
    Origin(
        name="direct-openai",
        prefix="OPENAI",
        base_url="https://api.openai.com/v1",
        model="gpt-4o-mini",
        aliases=("openai",),
    ),
    Origin(name="local", prefix="LOCAL", base_url="", model="default", needs_key=False),
)
"""In the order in which they are asked."""

_ORIGIN_BY_NAME: Mapping[str, Origin] = {name: origin for origin in ORIGINS for name in (origin.name, *origin.aliases)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """One configured server: everything that a client needs to know."""

    name: str
    """`cerebras`, `direct-openai` or `local`."""
    base_url: str
    """Normal form of `normal_base_url`, without `/chat/completions`."""
    model: str
    """Asked when a call names none."""
    key: str | None = field(default=None, repr=False)
    """Sent as bearer token; None for servers that want none."""
    organization: str | None = None
    """Whom OpenAI bills; nobody else is told."""
    project: str | None = None
    """For which of its projects."""

    @property
    def profile(self) -> Profile:
        """What this server does differently, chosen by its host."""
        return profile_for(self.base_url)

    @property
    def url(self) -> str:
        """The address that calls are posted to, without user name, password or query: fit to be shown."""
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{_host_and_port(parts)}{parts.path}/chat/completions"

    def knob(self, what: Literal["API_KEY", "MODEL", "BASE_URL"]) -> str:
        """Return the name of the setting that holds the key, the model or the base URL."""
        origin = _ORIGIN_BY_NAME.get(self.name)
        return f"{origin.prefix if origin else self.name.upper()}_{what}"

    def own_model_id(self, model: str | None) -> str:
        """Return the id to send: the default for None, and without a prefix that only names this endpoint."""
        if not model:
            return self.model
        prefix, slash, rest = model.partition("/")
        if not (slash and rest and addresses(prefix, self.name)) or model.startswith(SIMULATED_PREFIX):
            return model
        # On a server whose own ids read "openai/...", only our full name can be an address.
        return model if self.profile.vendor_ids and prefix != self.name else rest


def addresses(prefix: str, provider: str) -> bool:
    """Return whether the prefix of a `provider/model` id names the provider: `openai` names `direct-openai`."""
    origin = _ORIGIN_BY_NAME.get(prefix)
    return prefix == provider or (origin is not None and origin.name == provider)


def spellings(model: str, provider: str) -> tuple[str, ...]:
    """Return the ways to write a model of a provider: as given, then bare, then after each name of the provider."""
    origin = _ORIGIN_BY_NAME.get(provider)
    prefix, slash, rest = model.partition("/")
    bare = rest if slash and addresses(prefix, provider) else model
    names = (provider, *origin.aliases) if origin else (provider,)
    return (model, bare, *(f"{name}/{bare}" for name in names))


def normal_base_url(text: str) -> str:
    """Return a base URL to which `/chat/completions` can be appended.

    Surrounding space, trailing slashes and a trailing `/chat/completions` go away; a missing scheme becomes `http` for
    this machine and `https` elsewhere; a missing path becomes the vendor's own (`/v1` for unknown hosts), while any
    explicit path stays. Applying it twice changes nothing.

    Raises:
        ValueError: This is no http(s) URL with a host. The text is not repeated: a URL may hold a password.
    """
    url = text.strip()
    try:
        if "://" not in url:
            host = urlsplit(f"//{url}").hostname
            url = f"{'http' if host in _LOCAL_HOSTS else 'https'}://{url}"
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise ValueError("not an http(s) URL with a host name")
    path = parts.path.rstrip("/")
    while path.endswith("/chat/completions"):
        path = path.removesuffix("/chat/completions").rstrip("/")
    return parts._replace(path=path or profile_for(url).path, query="", fragment="").geturl()


@cache
def profile_for(base_url: str) -> Profile:
    """Return the profile of the URL's host, else `GENERIC`."""
    host = urlsplit(base_url).hostname or ""
    return next((profile for profile in PROFILES if profile.host == host), GENERIC)


def endpoint(
    name: str,
    *,
    key: str | None = None,
    base_url: str | None = None,
    model: str | None = None,
    organization: str | None = None,
    project: str | None = None,
) -> Endpoint:
    """Return the endpoint of one origin; what is missing or blank takes the origin's default.

    Args:
        name: `cerebras`, `direct-openai` (or `openai`) or `local`.
        organization: Dropped, like `project`, for every host but OpenAI's own.

    Raises:
        ValueError: The name is unknown, or there is no usable base URL; the text names the setting.
    """
    origin = _ORIGIN_BY_NAME.get(name)
    if origin is None:
        raise ValueError(f"no endpoint is called {name!r}; known are {', '.join(_ORIGIN_BY_NAME)}")
    url = _filled(base_url) or origin.base_url
    if not url:
        raise ValueError(f"{origin.prefix}_BASE_URL is not set")
    try:
        url = normal_base_url(url)
    except ValueError as error:
        raise ValueError(f"{origin.prefix}_BASE_URL is {error}") from None
    told = profile_for(url).accounts
    return Endpoint(
        name=origin.name,
        base_url=url,
        model=_filled(model) or origin.model,
        key=_filled(key) or None,
        organization=(told and _filled(organization)) or None,
        project=(told and _filled(project)) or None,
    )


def configured_endpoints(values: Mapping[str, str | None]) -> tuple[Endpoint, ...]:
    """Return the endpoints that the settings configure, in the order in which they are to be asked.

    Cerebras and OpenAI are configured by their key, a local server by its base URL.

    Args:
        values: Settings by name: `CEREBRAS_API_KEY`, `CEREBRAS_MODEL`, `CEREBRAS_BASE_URL` and the same for `OPENAI`
            and `LOCAL`; `OPENAI_ORG_ID` and `OPENAI_PROJECT_ID`. Blank values count as unset.
    """
    return tuple(
        endpoint(
            origin.name,
            key=values.get(f"{origin.prefix}_API_KEY"),
            base_url=values.get(f"{origin.prefix}_BASE_URL"),
            model=values.get(f"{origin.prefix}_MODEL"),
            organization=values.get("OPENAI_ORG_ID"),
            project=values.get("OPENAI_PROJECT_ID"),
        )
        for origin in ORIGINS
        if _filled(values.get(f"{origin.prefix}_{'API_KEY' if origin.needs_key else 'BASE_URL'}"))
    )


def _filled(value: str | None) -> str:
    return (value or "").strip()


def _host_and_port(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]
