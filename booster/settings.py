"""Settings of a process: options, endpoints and secrets, gathered once at the start from files and environment.

From weakest to strongest: defaults, `config.json`, `config.local.json`, `secrets.txt`, `secrets.local.txt`, environment;
options of a call go on top (`booster.config.merged`). Plain functions instead of pydantic-settings: its sources read
the environment of the process where we are handed one, cannot say in which file and line a value went wrong, and have no
notion of a file's mode; what is left after writing those is less than the code to bend it.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import unquote, urlsplit

from pydantic import SecretStr

from booster.config import ENDPOINT_VARIABLES, OPENAI_ACCOUNT, PROCESS_REWARD_KEY, Config, LogLevel, Price, Process
from booster.errors import UsageError
from booster.options import environment_name, nearest, shown
from booster.sources import (
    CONFIG_FILES,
    SECRETS_FILES,
    find,
    home_directory,
    read_config,
    read_secrets,
    user_directory,
)
from providers.endpoints import ORIGINS, normal_base_url

MEMORY_JOURNAL: Final = "memory:"
"""Journal URL of a process that keeps nothing."""

TOKEN_VARIABLE: Final = "BOOSTER_TOKEN"
"""Name of the variable that holds the HTTP server's token."""

_DRIVERS: Final = {
    "sqlite": "sqlite",
    "sqlite+aiosqlite": "sqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_SHOWN: Final = ("_MODEL", "_BASE_URL")
"""Ends of names in a secrets file whose values are shown on purpose."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """What is configured of one OpenAI-compatible endpoint; None = not given, so the provider's own default."""

    key: SecretStr | None = None
    model: str | None = None
    base_url: str | None = None
    """http or https URL, as given."""
    organization: str | None = None
    """Whom OpenAI bills."""
    project: str | None = None
    """For which of its projects."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RewardServer:
    """The process-reward model to ask; comes from the process's own configuration and from nowhere else."""

    url: str = field(repr=False)
    """http or https URL; may hold a password."""
    model: str
    form: Literal["pooling", "classify"] = "pooling"
    separator: str = "<extra_0>"
    """Token after each step, in the form `pooling`."""
    positive: int = 1
    """Place of the class that means a right step."""
    key: SecretStr | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """Everything a process is told from outside. `Settings.load()` gathers it; tests and programs may build it."""

    home: Path
    """Absolute directory of journal, token, memory and skills; it need not exist yet."""
    journal_url: str = field(repr=False)
    """SQLAlchemy URL, or `memory:`; may hold a password."""
    output_root: Path | None = None
    """Absolute directory below which results may be written; None = the working directory, and none over HTTP."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """US dollars per million tokens, by model id."""
    request_timeout: float = 120.0
    """Seconds that one attempt at a model call may take."""
    max_concurrency: int = 256
    """Model calls in flight at once, per provider."""
    allow_code: bool = False
    """Whether checks may run code, in the sandbox."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the HTTP server may be addressed, beside those of this machine."""
    token: SecretStr | None = None
    """What the HTTP server asks for; None = one is made and kept in `home`."""
    log_level: LogLevel = "info"
    """How much a serving process says on standard error."""
    trace_content: bool = False
    """Whether spans carry tasks, prompts, replies and answers."""
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    """`cerebras`, `openai`, `local` -> what is configured of it; endpoints without any setting are left out."""
    reward_server: RewardServer | None = None
    """None = no process reward is asked for."""
    config: Config = field(default_factory=Config)
    """Effective defaults of a solve."""
    warnings: list[str] = field(default_factory=list)
    """What was wrong without being fatal, one line each, without secrets."""
    secrets: frozenset[str] = field(default=frozenset(), repr=False)
    """Every secret value that was loaded, for redaction."""
    read_from: tuple[Path, ...] = ()
    """Files that were read, the one that wins last."""

    @classmethod
    def load(
        cls,
        *,
        config_file: Path | str | None = None,
        secrets_file: Path | str | None = None,
        environ: Mapping[str, str] | None = None,
        cwd: Path | str | None = None,
    ) -> "Settings":
        """Gather settings; reads files and writes nothing.

        Args:
            config_file: Read instead of the files that would be looked for.
            secrets_file: The same for secrets.
            environ: Environment variables; None = those of the process. Empty ones count as not given.
            cwd: Directory that relative paths start from; None = the working directory.

        Raises:
            UsageError: a value is not allowed or an explicit file is missing; names where it stands.
            ConfigFileError: a configuration file is not what it should be.
            SecretsFileError: a secrets file is unsafe or unreadable.
        """
        environ = os.environ if environ is None else environ
        base = Path.cwd() if cwd is None else Path(cwd).absolute()
        config_files = find(_path(config_file), CONFIG_FILES, "--config", base, environ)
        secrets_files = find(_path(secrets_file), SECRETS_FILES, "--secrets", base, environ)

        variables, warnings = _read_all(secrets_files)
        secrets = {value for name, value in variables.items() if _is_secret(name)}
        variables |= {name: value.strip() for name, value in environ.items() if value.strip()}
        token = variables.pop(TOKEN_VARIABLE, None)

        layers = _Layers()
        for path in config_files:
            warnings += layers.add_file(path)
        warnings += layers.add_variables(variables)
        endpoints = _endpoints(variables)
        warnings += _without_key(variables)
        process, home = layers.process, _home(layers.process, base, environ)
        reward_server = _reward_server(process, variables)
        warnings += _without_server(process, variables)
        return cls(
            home=home,
            journal_url=_journal_url(process.journal_url, home),
            output_root=None if process.output_root is None else _absolute(process.output_root, base, environ),
            prices=process.prices,
            request_timeout=process.request_timeout,
            max_concurrency=process.max_concurrency,
            allow_code=process.allow_code,
            allowed_hosts=process.allowed_hosts,
            token=SecretStr(token) if token else None,
            log_level=process.log_level,
            trace_content=process.trace_content,
            endpoints=endpoints,
            reward_server=reward_server,
            config=layers.config,
            warnings=warnings,
            secrets=frozenset(
                secrets
                | {token or ""} - {""}
                | _loaded_secrets([*endpoints.values(), *filter(None, [reward_server])], process.journal_url)
            ),
            read_from=(*config_files, *secrets_files),
        )


def _read_all(secrets_files: Iterable[Path]) -> tuple[dict[str, str], list[str]]:
    """Return what the secrets files hold, the last one winning, and what is wrong with them."""
    variables: dict[str, str] = {}
    warnings: list[str] = []
    for path in secrets_files:
        found, complaints = read_secrets(path)
        variables |= found
        warnings += complaints
    return variables, warnings


class _Layers:
    """The two options models while layers are put on top of them."""

    def __init__(self) -> None:
        self.process, self.config = Process(), Config()

    def add_file(self, path: Path) -> list[str]:
        """Put one configuration file on top; return its warnings."""
        try:
            warnings = self._add(read_config(path))
        except UsageError as error:
            raise UsageError(f"{path}: {error}", field=error.field) from None
        return [f"{path}: {warning}" for warning in warnings]

    def add_variables(self, variables: Mapping[str, str]) -> list[str]:
        """Put the `BOOSTER_*` variables on top; return a warning for each that means nothing."""
        options = {environment_name(name): name for cls in (Process, Config) for name in cls.spellings().values()}
        options |= {environment_name(name): name for name in Config.also_known}
        given = {name: value for name, value in variables.items() if name.startswith("BOOSTER_")}
        try:
            self._add({options[name]: value for name, value in given.items() if name in options})
        except UsageError as error:
            spelt = {**Process.spellings(), **Config.spellings()}.get(error.field, error.field)
            raise UsageError(f"{environment_name(spelt)}: {error}", field=error.field) from None
        return [f"variable {shown(name)} is ignored{nearest(name, options)}" for name in given if name not in options]

    def _add(self, given: Mapping[str, Any]) -> list[str]:
        known = Process.spellings()
        self.process, _ = self.process.override({key: value for key, value in given.items() if key in known})
        self.config, warnings = self.config.override({key: value for key, value in given.items() if key not in known})
        return warnings


def _path(given: Path | str | None) -> Path | None:
    return None if given is None else Path(given)


def _absolute(given: str, base: Path, environ: Mapping[str, str]) -> Path:
    path = home_directory(environ) / given[2:] if given.startswith("~/") else Path(given)
    return Path(os.path.normpath(base / path))


def _home(process: Process, base: Path, environ: Mapping[str, str]) -> Path:
    if process.home is not None:
        return _absolute(process.home, base, environ)
    here = base / ".booster"
    return here if here.is_dir() else user_directory(environ, "XDG_STATE_HOME", ".local/state")


def _journal_url(given: str | None, home: Path) -> str:
    """Return the URL with our driver, whichever of the usual spellings it has."""
    if given is None:
        return f"sqlite:///{home / 'booster.db'}"
    if given == MEMORY_JOURNAL:
        return given
    scheme, separator, rest = given.partition("://")
    if scheme not in _DRIVERS or not separator or not rest.strip("/"):
        allowed = "memory:, sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"
        raise UsageError(f"journal.url: {shown(given)} is not allowed; use {allowed}", field="journal.url")
    return f"{_DRIVERS[scheme]}://{rest}"


def _endpoints(variables: Mapping[str, str]) -> dict[str, Endpoint]:
    endpoints = {}
    for name, names in ENDPOINT_VARIABLES.items():
        key, model, base_url = _key(variables, names[0]), variables.get(names[1]), variables.get(names[2])
        try:
            _ = base_url and normal_base_url(base_url)
        except ValueError as error:
            raise UsageError(f"{names[2]}: {error}; use http(s)://HOST[:PORT]/v1", field=names[2]) from None
        if key or model or base_url:
            organization, project = (variables.get(one) if name == "openai" else None for one in OPENAI_ACCOUNT)
            endpoints[name] = Endpoint(
                key=key, model=model, base_url=base_url, organization=organization, project=project
            )
    return endpoints


def _reward_server(process: Process, variables: Mapping[str, str]) -> RewardServer | None:
    if process.process_reward_url is None:
        return None
    if process.process_reward_model is None:
        field_name = "processRewardModel"
        raise UsageError(f"{field_name}: is missing; name the model that processRewardUrl serves", field=field_name)
    try:
        url = normal_base_url(process.process_reward_url)
    except ValueError as error:
        message = f"processRewardUrl: {error}; use http(s)://HOST[:PORT]"
        raise UsageError(message, field="processRewardUrl") from None
    return RewardServer(
        url=url, model=process.process_reward_model, form=process.process_reward_form,
        separator=process.process_reward_separator, positive=process.process_reward_class,
        key=_key(variables, PROCESS_REWARD_KEY),
    )  # fmt: skip


def _key(variables: Mapping[str, str], name: str) -> SecretStr | None:
    key = variables.get(name)
    if key is not None and not (key.isascii() and key.isprintable() and " " not in key):
        raise UsageError(f"{name}: holds blanks or characters that no key has; copy the key again", field=name)
    return SecretStr(key) if key else None


def _without_server(process: Process, variables: Mapping[str, str]) -> list[str]:
    """Return a warning where a reward model is named, or has a key, and there is no address to ask."""
    if process.process_reward_url is not None or not (process.process_reward_model or PROCESS_REWARD_KEY in variables):
        return []
    return ["no process reward is asked for without processRewardUrl"]


def _without_key(variables: Mapping[str, str]) -> list[str]:
    """Return a warning for each base URL that nothing will be sent to, because its key is missing."""
    return [
        f"{origin.prefix}_BASE_URL is not used without {origin.prefix}_API_KEY; for a server without keys set LOCAL_BASE_URL"
        for origin in ORIGINS
        if origin.needs_key and f"{origin.prefix}_BASE_URL" in variables and f"{origin.prefix}_API_KEY" not in variables
    ]


def _is_secret(name: str) -> bool:
    """Whether a line of a secrets file holds a secret: everything but what is shown on purpose."""
    return not name.endswith(_SHOWN) and not name.startswith("BOOSTER_")


def _loaded_secrets(endpoints: Iterable[Endpoint | RewardServer], journal_url: str | None) -> set[str]:
    """Return keys, and passwords inside URLs as written and as meant."""
    found, urls = set(), [journal_url]
    for endpoint in endpoints:
        urls.append(endpoint.base_url if isinstance(endpoint, Endpoint) else endpoint.url)
        if endpoint.key is not None:
            found.add(endpoint.key.get_secret_value())
    for password in (_password(url) for url in urls if url):
        if password:
            found |= {password, unquote(password)}
    return found


def _password(url: str) -> str | None:
    try:
        return urlsplit(url if "://" in url else f"//{url}").password
    except ValueError:
        return None
