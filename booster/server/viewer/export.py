"""A session as one HTML file that can be kept and sent: no script, no request, the same templates as the live page."""

import time
from typing import TYPE_CHECKING

from booster.server.viewer.reading import read_session
from booster.server.viewer.render import session_file

if TYPE_CHECKING:
    from booster.app import Booster


async def exported(booster: "Booster", session_id: str) -> str:
    """Return the file's text.

    Raises:
        UnknownSession: there is none of that id.
    """
    return session_file(await read_session(booster, session_id), now=time.time())
