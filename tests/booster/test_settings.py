"""Settings of a process: which file or variable wins, what is refused, and that no secret shows."""

import json
import os
import textwrap
from pathlib import Path
from typing import Any

import pytest

from booster.config import Config
from booster.errors import ConfigFileError, SecretsFileError, UsageError
from booster.settings import Settings

KEY = "csk-canary-0123456789"


class Machine:
    """A working directory and a home of its own, with no environment but what a test says."""

    def __init__(self, root: Path) -> None:
        self.cwd, self.home = root / "work", root / "home"
        self.user = self.home / ".config" / "reasoning-booster"
        self.cwd.mkdir()
        self.user.mkdir(parents=True)
        self.environ = {"HOME": str(self.home)}

    def config(self, name: str, given: Any, *, user: bool = False) -> Path:
        path = (self.user if user else self.cwd) / name
        path.write_text(given if isinstance(given, str) else json.dumps(given), encoding="utf-8")
        return path

    def secrets(self, name: str, text: str | bytes, *, mode: int = 0o600, user: bool = False) -> Path:
        path = (self.user if user else self.cwd) / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        path.chmod(mode)
        return path

    def load(
        self, *, config_file: Path | str | None = None, secrets_file: Path | str | None = None, **environ: str
    ) -> Settings:
        return Settings.load(
            config_file=config_file, secrets_file=secrets_file, environ=self.environ | environ, cwd=self.cwd
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def key_of(settings: Settings, name: str) -> str | None:
    key = settings.endpoints[name].key
    return None if key is None else key.get_secret_value()


def test_with_nothing_given_everything_is_default_and_nothing_is_written(machine: Machine) -> None:
    """A fresh install works without a single file."""
    settings = machine.load()

    assert settings.config == Config()
    assert settings.endpoints == {}
    assert settings.warnings == []
    assert settings.home == machine.home / ".local/state/reasoning-booster"
    assert settings.journal_url == f"sqlite:///{settings.home}/booster.db"
    assert not settings.home.exists()
    assert list(machine.cwd.iterdir()) == []


def test_who_pays_belongs_to_the_endpoint_of_openai(machine: Machine) -> None:
    settings = machine.load(
        OPENAI_API_KEY=KEY, CEREBRAS_API_KEY=KEY, OPENAI_ORG_ID="org-ours", OPENAI_PROJECT_ID="proj-1"
    )

    openai, cerebras = settings.endpoints["openai"], settings.endpoints["cerebras"]
    assert (openai.organization, openai.project) == ("org-ours", "proj-1")
    assert (cerebras.organization, cerebras.project) == (None, None)


def test_each_layer_wins_over_the_one_below(machine: Machine) -> None:
    """User's files < working directory < local file < environment; what a layer leaves out stays."""
    machine.config(
        "config.json", {"numCandidates": 1, "iterations": 1, "maxSteps": 1, "beamWidth": 1, "topM": 1}, user=True
    )
    machine.config("config.local.json", {"numCandidates": 2, "iterations": 2, "maxSteps": 2, "beamWidth": 2}, user=True)
    machine.config("config.json", {"numCandidates": 3, "iterations": 3, "maxSteps": 3})
    machine.config("config.local.json", {"numCandidates": 4, "iterations": 4})

    settings = machine.load(BOOSTER_NUM_CANDIDATES="5")

    config = settings.config
    assert (config.num_candidates, config.iterations, config.max_steps) == (5, 4, 3)
    assert (config.beam_width, config.top_m) == (2, 1)
    assert len(settings.read_from) == 4


def test_an_explicit_file_is_read_instead_of_the_others(machine: Machine) -> None:
    """What a command line names is all there is, so that a run can be repeated elsewhere."""
    machine.config("config.json", {"iterations": 3})
    machine.config("mine.json", {"maxSteps": 3})
    machine.secrets("secrets.txt", f"CEREBRAS_API_KEY={KEY}")
    machine.secrets("mine.txt", "OPENAI_API_KEY=sk-other-key-1")

    settings = machine.load(config_file="mine.json", secrets_file=machine.cwd / "mine.txt")

    assert (settings.config.max_steps, settings.config.iterations) == (3, 8)
    assert set(settings.endpoints) == {"openai"}


@pytest.mark.parametrize("option", ["config", "secrets"])
def test_an_explicit_file_that_is_missing_is_an_error(machine: Machine, option: str) -> None:
    """Silence would run with other settings than asked for."""
    files = {f"{option}_file": "no-such-file"}

    with pytest.raises(UsageError, match=f"--{option}: there is no file"):
        Settings.load(environ=machine.environ, cwd=machine.cwd, **files)


@pytest.mark.parametrize(
    ("files", "environ", "expected"),
    [
        ({"secrets.txt": "A"}, "", "A"),
        ({"secrets.txt": "A", "secrets.local.txt": "B"}, "", "B"),
        ({"secrets.local.txt": "B"}, "C", "C"),
        ({"secrets.txt": "A"}, "  ", "A"),
    ],
)
@pytest.mark.parametrize("name", ["cerebras", "openai", "local"])
def test_keys_come_from_files_and_the_environment_wins(
    machine: Machine, name: str, files: dict[str, str], environ: str, expected: str
) -> None:
    """An empty variable counts as not given."""
    prefix = name.upper()
    for file, value in files.items():
        machine.secrets(
            file, f"{prefix}_API_KEY={value}\n{prefix}_MODEL=m-{value}\n{prefix}_BASE_URL=http://{value}.host/v1\n"
        )
    model = f"m-{environ}" if environ.strip() else environ

    settings = machine.load(**{f"{prefix}_API_KEY": environ, f"{prefix}_MODEL": model})

    endpoint = settings.endpoints[name]
    assert (key_of(settings, name), endpoint.model) == (expected, f"m-{expected}")
    assert endpoint.base_url == f"http://{expected if not environ.strip() else 'B'}.host/v1"


def test_a_local_endpoint_needs_no_key(machine: Machine) -> None:
    """Ollama and its kind have none."""
    settings = machine.load(LOCAL_BASE_URL="http://localhost:11434/v1")

    assert set(settings.endpoints) == {"local"}
    assert key_of(settings, "local") is None


def test_a_base_url_without_its_key_is_a_warning(machine: Machine) -> None:
    """It would otherwise be ignored in silence; servers without keys have a name of their own."""
    settings = machine.load(OPENAI_BASE_URL="http://localhost:11434/v1")

    assert settings.warnings == [
        "OPENAI_BASE_URL is not used without OPENAI_API_KEY; for a server without keys set LOCAL_BASE_URL"
    ]


def test_every_option_has_a_variable(machine: Machine) -> None:
    """Lists and objects as JSON, the rest as text."""
    settings = machine.load(
        BOOSTER_CANDIDATES="7",
        BOOSTER_W_RULES="0.5",
        BOOSTER_ALLOW_BACKTRACK="false",
        BOOSTER_MODELS='["openai/a", "b"]',
        BOOSTER_PRICES='{"a": {"inputPerMTok": 1, "outputPerMTok": 2.5}}',
        BOOSTER_REQUEST_TIMEOUT="30",
        BOOSTER_MAX_CONCURRENCY="3",
        BOOSTER_HOME="state",
        BOOSTER_JOURNAL_URL="memory:",
        BOOSTER_OUTPUT_ROOT="~/results",
    )

    assert (settings.config.num_candidates, settings.config.w_rules, settings.config.allow_backtrack) == (7, 0.5, False)
    assert settings.config.models == ("openai/a", "b")
    assert settings.prices["a"].output_per_m_tok == 2.5
    assert (settings.request_timeout, settings.max_concurrency) == (30.0, 3)
    assert settings.home == machine.cwd / "state"
    assert settings.journal_url == "memory:"
    assert settings.output_root == machine.home / "results"


def test_a_misspelt_variable_or_option_is_a_warning(machine: Machine) -> None:
    """With the nearest known name, and the file it stands in."""
    machine.config("config.json", {"outputRot": "x"})

    settings = machine.load(BOOSTER_NUM_CANDIDTES="5")

    assert settings.warnings == [
        f"{machine.cwd}/config.json: unknown option \"outputRot\" is ignored; did you mean 'outputRoot'?",
        "variable \"BOOSTER_NUM_CANDIDTES\" is ignored; did you mean 'BOOSTER_NUM_CANDIDATES'?",
    ]


def test_a_wrong_value_names_where_it_stands(machine: Machine) -> None:
    """The file with the option, or the variable."""
    with pytest.raises(
        UsageError, match=r"^BOOSTER_NUM_CANDIDATES: numCandidates: 99|^BOOSTER_NUM_CANDIDATES: .*\"99\""
    ):
        machine.load(BOOSTER_NUM_CANDIDATES="99")
    path = machine.config("config.local.json", {"beamDepth": 9})
    with pytest.raises(UsageError) as caught:
        machine.load()

    assert str(caught.value) == f"{path}: beamDepth: 9 is not allowed; use a whole number from 1 to 4"
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "iterations": 8,\n}', "line 3, column 1"),
        ('{"iterations": 8} // eight', "line 1, column 19"),
        ("", "line 1, column 1"),
        ('{"wRules": NaN}', "NaN"),
        ('{"wRules": 0.1, "wRules": 0.2}', '"wRules" stands twice'),
        ('["iterations"]', "no JSON object"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_config_file_is_an_error_that_says_where(machine: Machine, text: str, said: str) -> None:
    """File, line, column and what JSON does not have."""
    path = machine.config("config.json", text)

    with pytest.raises(ConfigFileError) as caught:
        machine.load()

    assert str(caught.value).startswith(f"{path}: ")
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_config_file_may_begin_with_a_byte_order_mark(machine: Machine) -> None:
    """Some editors write one."""
    machine.config("config.json", '\ufeff{"iterations": 3}')

    assert machine.load().config.iterations == 3


@pytest.mark.parametrize("kind", ["config", "secrets"])
def test_files_that_are_no_text_or_no_files_are_refused(machine: Machine, kind: str, tmp_path: Path) -> None:
    """A FIFO must not hang the start, a huge file must not fill the memory, bytes must not be guessed at."""
    fifo, binary, huge = tmp_path / "fifo", tmp_path / "binary", tmp_path / "huge"
    os.mkfifo(fifo, 0o600)
    binary.write_bytes(b'{"a": "\xff"}')
    huge.write_bytes(b" " * (1 << 21))

    for path, said in ((fifo, "not a regular file"), (binary, "not UTF-8"), (huge, "larger than")):
        path.chmod(0o600)
        with pytest.raises((ConfigFileError, SecretsFileError), match=said):
            machine.load(**{f"{kind}_file": path})  # type: ignore[arg-type]  # keys vary by test


@pytest.mark.parametrize(
    ("mode", "warns"), [(0o600, False), (0o400, False), (0o644, True), (0o640, True), (0o604, True)]
)
def test_a_secrets_file_that_others_can_read_is_a_warning(machine: Machine, mode: int, warns: bool) -> None:
    """It says what to run."""
    path = machine.secrets("secrets.txt", f"CEREBRAS_API_KEY={KEY}", mode=mode)

    settings = machine.load()

    assert settings.warnings == ([f"{path} can be read by others; run: chmod 600 {path}"] if warns else [])
    assert key_of(settings, "cerebras") == KEY


@pytest.mark.parametrize("mode", [0o666, 0o622, 0o660, 0o602])
def test_a_secrets_file_that_others_can_change_is_refused(machine: Machine, mode: int) -> None:
    """Whoever can write it could send our keys and tasks to an endpoint of theirs."""
    path = machine.secrets("secrets.txt", f"CEREBRAS_API_KEY={KEY}", mode=mode)

    with pytest.raises(SecretsFileError, match=f"chmod 600 {path}") as caught:
        machine.load()

    assert KEY not in str(caught.value)


def test_secrets_lines_may_have_every_usual_form(machine: Machine) -> None:
    """Comments, blank lines, export, quotes, CRLF and BOM are fine; a bad line is named by number, not by content."""
    text = "\ufeff" + textwrap.dedent(
        f"""\
        # keys
        export CEREBRAS_API_KEY="{KEY}"   # the cheap one

          OPENAI_API_KEY = 'sk-single-quoted-1'\r
        LOCAL_API_KEY=local#key#1 # hash inside stays
        OPENAI_MODEL=
        this line leaks-if-printed
        2KEY=leaks-if-printed
        CEREBRAS_MODEL="unclosed leaks-if-printed
        =leaks-if-printed
        LOCAL_BASE_URL=http://localhost:1234/v1
        """
    )
    path = machine.secrets("secrets.txt", text)

    settings = machine.load()

    assert [key_of(settings, name) for name in settings.endpoints] == [KEY, "sk-single-quoted-1", "local#key#1"]
    assert settings.endpoints["openai"].model is None
    assert settings.endpoints["local"].base_url == "http://localhost:1234/v1"
    assert settings.warnings == [f"{path}, line {number}: is not KEY=VALUE and is ignored" for number in (7, 8, 9, 10)]


def test_a_server_of_process_rewards_is_configured_with_its_model_and_key(machine: Machine) -> None:
    machine.config("config.json", {"processRewardUrl": "localhost:9000", "processRewardForm": "classify"})
    machine.secrets("secrets.txt", f"PROCESS_REWARD_API_KEY={KEY}")

    settings = machine.load(BOOSTER_PROCESS_REWARD_MODEL="prm", BOOSTER_PROCESS_REWARD_CLASS="0")

    place = settings.reward_server
    assert place is not None
    assert (place.url, place.model, place.form, place.positive) == ("http://localhost:9000/v1", "prm", "classify", 0)
    assert place.key is not None
    assert place.key.get_secret_value() == KEY
    assert KEY in settings.secrets
    assert KEY not in repr(settings)


@pytest.mark.parametrize(
    ("environ", "said"),
    [
        ({"BOOSTER_PROCESS_REWARD_URL": "http://h"}, "processRewardModel: is missing"),
        (
            {"BOOSTER_PROCESS_REWARD_URL": "ftp://h", "BOOSTER_PROCESS_REWARD_MODEL": "m"},
            "processRewardUrl: not an http",
        ),
        (
            {
                "BOOSTER_PROCESS_REWARD_URL": "http://h",
                "BOOSTER_PROCESS_REWARD_MODEL": "m",
                "PROCESS_REWARD_API_KEY": "a b",
            },
            "PROCESS_REWARD_API_KEY: holds blanks",
        ),
    ],
)
def test_half_a_server_of_process_rewards_is_refused(machine: Machine, environ: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError, match=f"^{said}"):
        machine.load(**environ)


def test_a_reward_model_without_an_address_is_said(machine: Machine) -> None:
    settings = machine.load(BOOSTER_PROCESS_REWARD_MODEL="m")

    assert settings.reward_server is None
    assert settings.warnings == ["no process reward is asked for without processRewardUrl"]


def test_every_secret_that_was_loaded_is_known_for_redaction(machine: Machine) -> None:
    """Keys of endpoints, other secrets of the file, passwords inside URLs; models and hosts are shown on purpose."""
    machine.secrets(
        "secrets.txt", "GITHUB_TOKEN=canary-of-a-tool\nOPENAI_MODEL=gpt-4o-mini\nBOOSTER_NAMESPACE=public\n"
    )

    settings = machine.load(
        CEREBRAS_API_KEY=KEY,
        LOCAL_BASE_URL="http://me:pass%2Fword@localhost:1/v1",
        BOOSTER_JOURNAL_URL="postgresql://me:hunter2@db/booster",
        BOOSTER_PROCESS_REWARD_URL="http://me:hunter3@localhost:2",
        BOOSTER_PROCESS_REWARD_MODEL="m",
    )

    assert settings.secrets == {"canary-of-a-tool", KEY, "pass%2Fword", "pass/word", "hunter2", "hunter3"}


def test_no_secret_shows_in_the_repr(machine: Machine) -> None:
    """Settings end up in tracebacks and logs."""
    machine.secrets("secrets.txt", "OTHER_TOKEN=canary-of-a-tool")

    text = repr(machine.load(CEREBRAS_API_KEY=KEY, BOOSTER_JOURNAL_URL="postgresql://me:hunter2@db/booster"))

    assert KEY not in text
    assert "hunter2" not in text
    assert "canary" not in text


@pytest.mark.parametrize("key", ["two words", "späth", "a\tb"])
def test_a_key_that_cannot_be_a_key_is_refused_without_showing_it(machine: Machine, key: str) -> None:
    """Text pasted by mistake would break the request later, with a stranger message."""
    with pytest.raises(UsageError, match=r"^OPENAI_API_KEY: ") as caught:
        machine.load(OPENAI_API_KEY=key)

    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["ftp://host/v1", "http://", "http://host:99999/v1", "file:///etc/passwd", "http://[::1"]
)
def test_a_base_url_that_is_none_is_refused(machine: Machine, url: str) -> None:
    """Only http and https URLs with a host are endpoints; the error names the variable."""
    with pytest.raises(UsageError, match=r"^OPENAI_BASE_URL: not an http") as caught:
        machine.load(OPENAI_BASE_URL=url, OPENAI_API_KEY=KEY)

    assert caught.value.field == "OPENAI_BASE_URL"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("memory:", "memory:"),
        ("sqlite:////var/lib/booster.db", "sqlite:////var/lib/booster.db"),
        ("postgres://me@db/booster", "postgresql+psycopg://me@db/booster"),
        ("postgresql+psycopg://me@db/booster", "postgresql+psycopg://me@db/booster"),
    ],
)
def test_the_journal_url_gets_an_async_driver(machine: Machine, given: str, expected: str) -> None:
    """In a config file it is `journal.url` or an object `journal` with `url`."""
    machine.config("config.json", {"journal": {"url": given}})
    assert machine.load().journal_url == expected
    machine.config("config.json", {"journal.url": given})
    assert machine.load().journal_url == expected


@pytest.mark.parametrize("given", ["mysql://me:hunter2@db/x", "booster.db", "sqlite://", "memory"])
def test_a_journal_url_of_another_kind_is_refused(machine: Machine, given: str) -> None:
    """The text says what is taken and hides a password."""
    with pytest.raises(UsageError, match="postgresql") as caught:
        machine.load(BOOSTER_JOURNAL_URL=given)

    assert "hunter2" not in str(caught.value)


def test_the_home_is_the_folder_in_the_working_directory_if_there_is_one(machine: Machine) -> None:
    """Else the user's state directory, else what is said."""
    state = machine.home / "state"
    assert machine.load(XDG_STATE_HOME=str(state)).home == state / "reasoning-booster"
    assert machine.load(XDG_STATE_HOME="relative").home == machine.home / ".local/state/reasoning-booster"
    (machine.cwd / ".booster").mkdir()

    assert machine.load(XDG_STATE_HOME=str(state)).home == machine.cwd / ".booster"
    assert machine.load(BOOSTER_HOME="/srv/booster").home == Path("/srv/booster")


def test_the_user_configuration_directory_follows_the_environment(machine: Machine, tmp_path: Path) -> None:
    """Clients start servers in odd directories; then only the user's own files are found."""
    elsewhere = tmp_path / "xdg" / "reasoning-booster"
    elsewhere.mkdir(parents=True)
    (elsewhere / "config.json").write_text('{"iterations": 3}', encoding="utf-8")
    machine.secrets("secrets.txt", f"CEREBRAS_API_KEY={KEY}", user=True)

    assert machine.load(XDG_CONFIG_HOME=str(tmp_path / "xdg")).config.iterations == 3
    assert key_of(machine.load(), "cerebras") == KEY
