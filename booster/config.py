"""Every option there is, with default, bounds and meaning: the knobs of one solve and those of a whole process.

One set of names serves config file, `BOOSTER_*`, the tools' `config`, Python keywords and the `booster` object of HTTP
requests. `docs/settings.md` is printed by `python -m booster.config`; a default or bound is written nowhere else.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from booster.options import Flag, Options, PerDepth, Real, Whole, read_structure, within
from providers.endpoints import ORIGINS
from verifier.tuned import AUDIT_RATE, CAP, LEAD, WAVE_SIZE

ProviderName = Literal["cerebras", "openai", "local", "mcp", "caller", "heuristic", "replay", "simulated"]
"""Where proposals can be made to come from."""

LogLevel = Literal["debug", "info", "warning", "error"]
"""From the most talkative to the most silent."""

ModelId = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f\x7f]{1,200}$")]
"""`provider/model` or a bare model id."""

HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:-]{1,253}$")]
"""A host name or address without port."""


ENDPOINT_VARIABLES: Final[Mapping[str, tuple[str, str, str]]] = {
    origin.prefix.lower(): (f"{origin.prefix}_API_KEY", f"{origin.prefix}_MODEL", f"{origin.prefix}_BASE_URL")
    for origin in ORIGINS
}
"""`cerebras`, `openai`, `local` -> variables for key, model and base URL, in the order in which endpoints are asked."""


OPENAI_ACCOUNT: Final = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Variables for the organisation and the project that OpenAI bills."""

PROCESS_REWARD_KEY: Final = "PROCESS_REWARD_API_KEY"
"""Variable for the key of the process-reward server."""


class Price(Options):
    """What a model charges, in US dollars per million tokens."""

    input_per_m_tok: Real = Field(ge=0)
    output_per_m_tok: Real = Field(ge=0)


class Process(Options):
    """Options of a whole process: they come from config files and environment, never from a single call."""

    home: str | None = Field(
        default=None,
        min_length=1,
        description="Directory of journal, token, memory and skills; unset = `./.booster` if that exists, "
        "else `reasoning-booster` in the user's state directory",
        json_schema_extra={"allowed": "a path"},
    )
    journal_url: str | None = Field(
        default=None,
        alias="journal.url",
        min_length=1,
        description="Where the journal is kept; unset = the SQLite file `booster.db` in `home`",
        json_schema_extra={"allowed": "memory: or sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/DATABASE"},
    )
    output_root: str | None = Field(
        default=None,
        min_length=1,
        description="Directory below which clients may have results written; unset = the working directory, and none over HTTP. `--out` of the command line goes wherever its user may write",
        json_schema_extra={"allowed": "a path"},
    )
    prices: Annotated[dict[str, Price], BeforeValidator(read_structure)] = Field(
        default_factory=dict,
        description="Prices by model id, US dollars per million tokens; without one a cost is unknown, not 0",
        json_schema_extra={"allowed": '{"MODEL": {"inputPerMTok": USD, "outputPerMTok": USD}} with numbers >= 0'},
    )
    request_timeout: Real = Field(
        default=120.0, ge=1, le=3600, description="Seconds that one attempt at a model call may take"
    )
    max_concurrency: Whole = Field(
        default=256, ge=1, le=1024, description="Model calls in flight at once, per provider"
    )
    allowed_hosts: Annotated[tuple[HostName, ...], BeforeValidator(read_structure)] = Field(
        default=(),
        description="Names, beside those of this machine, under which the HTTP server may be addressed",
        json_schema_extra={"allowed": "a list of host names or addresses without port"},
    )
    process_reward_url: str | None = Field(
        default=None,
        min_length=1,
        description="Server of a process-reward model (vLLM), which scores every step of a path; unset = none is asked",
        json_schema_extra={"allowed": "http(s)://HOST[:PORT]"},
    )
    process_reward_model: ModelId | None = Field(
        default=None,
        description="Model that `processRewardUrl` serves; needed where that is set",
        json_schema_extra={"allowed": "a model id without blanks"},
    )
    process_reward_form: Literal["pooling", "classify"] = Field(
        default="pooling",
        description="How that server is asked: once a path at `/pooling`, with a separator after each step, or at `/classify` "
        "with every beginning of the path",
    )
    process_reward_separator: str = Field(
        default="<extra_0>",
        min_length=1,
        max_length=100,
        description="Token after each step, in the form `pooling`",
        json_schema_extra={"allowed": "1 to 100 characters"},
    )
    process_reward_class: Whole = Field(
        default=1, ge=0, le=100, description="Place of the class that means a right step, counted from 0"
    )
    allow_code: Flag = Field(
        default=False,
        description="Whether checks may run code (`python`, `command`), in a sandbox of bubblewrap; never set by a task or a call",
    )
    log_level: LogLevel = Field(default="info", description="How much a serving process says on standard error")
    trace_content: Flag = Field(
        default=False,
        description="Whether OpenTelemetry spans carry tasks, prompts, replies and answers, without secrets",
    )


class Config(Options):
    """Options of one solve; every one may be given with the call."""

    also_known: ClassVar[Mapping[str, str]] = {"candidates": "num_candidates"}
    elsewhere: ClassVar[Mapping[str, str]] = dict.fromkeys(
        Process.spellings(), "it is set for the whole process, in a config file or the environment"
    )

    iterations: Whole = Field(
        default=8, ge=1, le=64, description="Iterations of one solve; more than `maxSteps` are cut"
    )
    max_steps: Whole = Field(default=16, ge=1, le=64, description="Applied steps that a session may hold")
    granularity: Literal["auto", "step", "answer"] = Field(
        default="auto",
        description="What an iteration asks for: a small step, a whole answer, or an answer first and steps if needed",
    )
    scheduler: Literal["auto", "system1", "system2", "seed"] = Field(
        default="auto",
        description="Who decides how much thought a step gets: the learned scheduler, always cheap, always deep, "
        "or nobody (every step as configured here)",
    )
    select: Literal["auto", "score", "judge", "vote", "programs"] = Field(
        default="auto",
        description="How the winner among answers is found: by the heuristic score, by a judge's score of each beside the "
        "vote, by vote alone, by vote with a judge where one is set and could change the winner, or, for answers that are "
        "programs, by what they do on tests that models write (runs them, so `allowCode` must be set)",
    )
    num_candidates: Whole = Field(
        default=5,
        ge=1,
        le=16,
        description="Candidates per iteration (`candidates` is another name for it); where it is given, so many whole "
        "answers are asked for at once, in place of `samples` in waves",
    )
    samples: Whole = Field(
        default=CAP, ge=1, le=100, description="Most whole answers of a vote; fewer where enough of them agree"
    )
    lead: Whole = Field(
        default=LEAD,
        ge=2,
        le=4,
        description="Votes by which the leading answer must be ahead to end the drawing: 2 quick, 4 careful",
    )
    wave_size: Whole = Field(
        default=WAVE_SIZE,
        ge=1,
        le=16,
        description="Answers asked for side by side after the first few; 1 = the fewest calls",
    )
    top_m: Whole = Field(
        default_factory=lambda given: min(2, given.get("num_candidates", 5)),
        ge=1,
        description="Best candidates that are kept and that a beam starts from",
        json_schema_extra={"allowed": "a whole number from 1 to `numCandidates`"},
    )
    min_improvement: Real = Field(
        default=0.01,
        ge=0,
        le=1,
        description="Score, 0..1, by which a step must beat the one before it not to count as stagnation",
    )
    beam_width: Annotated[PerDepth, AfterValidator(partial(within, 1, 16))] = Field(
        default=1,
        description="Branches of the beam that is tried on stagnation; 1 = no beam",
        json_schema_extra={"allowed": "a whole number from 1 to 16, or a list of them, one a depth"},
    )
    beam_depth: Whole = Field(default=2, ge=1, le=4, description="Steps that a branch of the beam looks ahead")
    value_calls: Annotated[PerDepth, AfterValidator(partial(within, 0, 8))] = Field(
        default=0,
        description="Times that `judgeModel` is asked how far each state of a beam leads; 0 = the scores of the steps decide",
        json_schema_extra={"allowed": "a whole number from 0 to 8, or a list of them, one a depth"},
    )
    allow_backtrack: Flag = Field(default=True, description="Whether the last step may be taken back")
    max_backtracks: Whole = Field(
        default=3, ge=0, le=16, description="Steps taken back before a session ends as stagnant"
    )
    w_rules: Real = Field(
        default=0.6, ge=0, le=1, description="Weight of the rules score; the weights need not sum to 1"
    )
    w_redundancy: Real = Field(default=0.25, ge=0, le=1, description="Weight of the redundancy score")
    w_consistency: Real = Field(default=0.15, ge=0, le=1, description="Weight of the consistency score")
    provider: ProviderName | None = Field(
        default=None,
        description="The one source of proposals to use; unset = the first that is configured, then the next",
    )
    use_sampling: Flag | None = Field(
        default=None,
        description="Whether an MCP client's own model may be asked; unset = where no endpoint is configured",
        json_schema_extra={"allowed": "true or false"},
    )
    fast_model: ModelId | None = Field(
        default=None,
        description="Model of cheap steps; unset = the endpoint's own",
        json_schema_extra={"allowed": "a model id without blanks"},
    )
    strong_model: ModelId | None = Field(
        default=None,
        description="Model of deep steps; unset = the endpoint's own",
        json_schema_extra={"allowed": "a model id without blanks"},
    )
    judge_model: ModelId | None = Field(
        default=None,
        description="Model that compares answers; unset = no judge. It should be none of those that answer",
        json_schema_extra={"allowed": "a model id without blanks"},
    )
    models: Annotated[tuple[ModelId, ...], BeforeValidator(read_structure), Field(max_length=16)] = Field(
        default=(),
        description="Models that whole answers are asked of in turn, as `provider/model`",
        json_schema_extra={"allowed": "a list of at most 16 model ids without blanks"},
    )
    audit_rate: Real = Field(
        default=AUDIT_RATE,
        ge=0,
        le=1,
        description="Share of the answers that stand by agreement of cheap ones at which the strong model is asked all the same",
    )
    sampling_max_tokens: Whole = Field(
        default=2000, ge=16, le=16_000, description="Tokens that one reply may have, hidden reasoning included"
    )
    probe_rate: Real = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the deep steps beside which one cheap call is made too, so that the learned scheduler sees "
        "whether it would have done",
    )
    context_window: Whole = Field(
        default=128_000,
        ge=1000,
        le=10_000_000,
        description="Tokens that the model can read, for the estimate of how full it is",
    )
    namespace: str = Field(
        default="default",
        pattern=r"^[A-Za-z0-9_.-]{1,100}$",
        description="Whose sessions and learned scheduler state are used",
        json_schema_extra={"allowed": "1 to 100 letters, digits, dots, hyphens or underscores"},
    )

    @field_validator("top_m")
    @classmethod
    def _within_candidates(cls, top_m: int, info: ValidationInfo) -> int:
        """Refuse more than there are candidates where someone asks for it now; clip what an earlier layer left."""
        candidates: int = info.data.get("num_candidates", top_m)
        if top_m <= candidates:
            return top_m
        if isinstance(info.context, frozenset) and "top_m" not in info.context:
            return candidates
        raise ValueError(f"a whole number from 1 to numCandidates ({candidates})")


def merged(base: Config, overrides: Mapping[str, object]) -> tuple[Config, list[str]]:
    """Return `base` with a call's own options on top, and warnings about names that are not known.

    Raises:
        UsageError: a value is not allowed; the text names the field, the value and the range.
    """
    return base.override(overrides)


_PAGE: Final = """\
# Settings

Printed by `python -m booster.config`; change the models there, not this page.

From weakest to strongest: the defaults below, `config.json`, `config.local.json`, `secrets.txt`, `secrets.local.txt`,
environment variables, options given with a call. The files are looked for in the user's configuration directory
(`$XDG_CONFIG_HOME/reasoning-booster`, else `~/.config/reasoning-booster`) and then, stronger, in the working directory;
`--config FILE` and `--secrets FILE` are read instead of those. Names in files, calls and Python are the camelCase ones.
Values may be text (`"8"`, `"true"`, JSON for lists and objects); null and empty variables count as not given. A value that
does not fit is an error; a name that nobody knows is a warning; of variables and in secrets files where it begins with `BOOSTER_`.

## Options of a solve

{config}
## Options of the process

In config files and environment only.

{process}
## Endpoints and keys

As `KEY=VALUE` lines in a secrets file or as environment variables. An endpoint is used once its key, or for `local` its
base URL, is set. A secrets file that others can read is a warning, one that others can change is refused: `chmod 600` it.

| endpoint | key | model | base URL |
|---|---|---|---|
{endpoints}

`BOOSTER_TOKEN`, in the same places, is the token that the HTTP server asks for, at least 32 characters; without it one is made
and kept in the file `token` in `home`.

`{organization}` and `{project}`: who pays, told to OpenAI's own host and to no other.

`{reward_key}`: bearer token of the server at `processRewardUrl`, where it wants one.
"""


def config_table() -> str:
    """Return the options of one solve as a Markdown table."""
    return Config.table()


def settings_page() -> str:
    """Return the whole of `docs/settings.md`."""
    rows = (
        f"| {origin.name} | `{origin.prefix}_API_KEY` | `{origin.prefix}_MODEL`, else `{origin.model}` "
        f"| `{origin.prefix}_BASE_URL`{f', else `{origin.base_url}`' if origin.base_url else ''} |"
        for origin in ORIGINS
    )
    return _PAGE.format(
        config=config_table(),
        process=Process.table(),
        endpoints="\n".join(rows),
        organization=OPENAI_ACCOUNT[0],
        project=OPENAI_ACCOUNT[1],
        reward_key=PROCESS_REWARD_KEY,
    )


if __name__ == "__main__":
    print(settings_page(), end="")
