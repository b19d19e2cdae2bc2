"""From page models to HTML: one Jinja2 environment in which every value is made fit to be shown and then escaped."""

from base64 import b64encode
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from booster.events import EVENT_TYPES
from booster.server.viewer import svg, text, tree, turns, waterfall
from booster.server.viewer.list_page import FILTERS, ListPage
from booster.server.viewer.scheduler_page import NamespaceView
from booster.server.viewer.session_page import SessionPage

HERE: Final = Path(__file__).parent

_FILTERS: Final = (
    text.age, text.clock, text.clipped, text.count, text.line, text.number, text.percent, text.seconds, text.usd,
    tree.in_words, turns.contributions, turns.figures, svg.bar, waterfall.legend, waterfall.role_class,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """What surrounds a page, whichever it is."""

    nonce: str
    """Of its content security policy."""
    signed_in: bool = False
    """The browser came with a cookie of ours, and can be rid of it."""


def session_html(page: SessionPage, *, now: float, frame: Frame) -> str:
    """Return the live page of a session."""
    stream = {"types": " ".join(sorted(EVENT_TYPES))}
    return _rendered("session.html", page=page, now=now, frame=frame, stream=stream)


def session_file(page: SessionPage, *, now: float) -> str:
    """Return a session as one file that loads nothing and runs nothing: its policy allows its own style sheet only."""
    style = static("viewer.css")
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    # The style sheet is ours, and holds nothing that would end its element.
    return _rendered("file.html", page=page, now=now, policy=policy, style=Markup(style))  # noqa: S704  # our own file


def list_html(page: ListPage, *, now: float, frame: Frame) -> str:
    """Return the list of sessions."""
    return _rendered("sessions.html", page=page, now=now, frame=frame, filters=FILTERS)


def scheduler_html(namespaces: tuple[NamespaceView, ...], *, now: float, frame: Frame, sessions: int) -> str:
    """Return the scheduler's page; `sessions` says over how many of the latest ones its figures run."""
    return _rendered("scheduler.html", namespaces=namespaces, now=now, frame=frame, sessions=sessions)


def problem_html(title: str, message: str, *, frame: Frame) -> str:
    """Return a page that says what went wrong and what to do."""
    return _rendered("problem.html", title=title, message=message, frame=frame, now=0.0)


@cache
def static(name: str) -> str:
    """Return a static file of the viewer."""
    return (HERE / "static" / name).read_text(encoding="utf-8")


def _rendered(template: str, **values: Any) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(HERE / "templates"), autoescape=True, finalize=text.shown, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True, auto_reload=False,
    )  # fmt: skip
    environment.filters |= {function.__name__: function for function in _FILTERS}
    return environment
