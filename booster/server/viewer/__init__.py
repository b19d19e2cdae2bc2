"""The trace viewer: what the service does and did, as pages that update themselves, and as one file that can be sent.

Everything is rendered here on the server; the browser runs one small module that fetches a page again when something has
happened. Texts of models, tools and users are data: they pass `text.shown` and the escaping of the templates and can become
neither markup nor commands. Page models and drawings are pure; `routes` and `export` read the journal.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

    from booster.app import Booster

__all__ = ["routes"]


def routes(booster: "Booster") -> "list[BaseRoute]":
    """Return the routes of the viewer: `/`, `/sessions/{id}`, `/scheduler` and what these load.

    Whoever composes the application guards them, and puts the nonce of its content security policy into the `nonce` of the
    request's state.
    """
    from booster.server.viewer.pages import page_routes  # a file can be exported without the HTTP stack

    return page_routes(booster)
