"""A real browser on the real application: what the tests of the viewer in a browser share."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.async_api import Browser, BrowserContext, Page, async_playwright

from booster.app import Booster
from booster.server.auth import Access
from booster.server.http import build_app
from booster.server.serving import Server, configured, listening

TOKEN = "a-token-for-tests-that-is-long-enough-0123456789"

CHROMIUM = shutil.which("chromium")

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")

_ARGUMENTS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Site:
    """The application on a port."""

    url: str
    port: int
    access: Access

    def session(self, session_id: str) -> str:
        """Return the address of a session's page."""
        return f"{self.url}/sessions/{session_id}"


@asynccontextmanager
async def site(booster: Booster, *, before: Site | None = None) -> AsyncIterator[Site]:
    """Serve a booster until the block ends, on any port, or in the place of another site that has ended."""
    access, port = (before.access, before.port) if before else (Access(TOKEN), 0)
    app = build_app(booster, access=access)
    with listening("127.0.0.1", port) as listener:
        server = Server(configured(app))
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        bound = listener.getsockname()[1]
        try:
            yield Site(url=f"http://127.0.0.1:{bound}", port=bound, access=access)
        finally:
            server.should_exit = True
            app.feed.close()
            await serving


@asynccontextmanager
async def a_browser() -> AsyncIterator[Browser]:
    """Run Chromium, able to reach this machine only."""
    assert CHROMIUM is not None
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=list(_ARGUMENTS))
        try:
            yield browser
        finally:
            await browser.close()


class Visit:
    """One page, and what its console said."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.complaints: list[str] = []
        """Errors of the page: scripts that failed, things that its policy refused."""
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("console", lambda message: self._note(message.type, message.text))
        page.on("request", lambda request: self.requests.append(request.url))

    def _note(self, kind: str, text: str) -> None:
        if kind == "error" and "ERR_CONNECTION" not in text and "ERR_INCOMPLETE" not in text:
            self.complaints.append(text)

    async def sign_in(self, where: Site) -> None:
        """Give the browser a cookie as signing in does."""
        name, value = f"booster_{where.port}", where.access.sign_in()
        await self.page.context.add_cookies([{"name": name, "value": value, "url": where.url}])

    async def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(await self.page.evaluate("document.documentElement.scrollWidth - window.innerWidth"))


@asynccontextmanager
async def a_visit(
    browser: Browser,
    where: Site | None = None,
    *,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    **options: Any,
) -> AsyncIterator[Visit]:
    """Open an empty page of a person who has signed in to `where`."""
    context: BrowserContext = await browser.new_context(
        viewport={"width": width, "height": 800}, color_scheme=scheme, **options
    )
    try:
        visit = Visit(await context.new_page())
        if where is not None:
            await visit.sign_in(where)
        yield visit
    finally:
        await context.close()


def screenshots(folder: Path) -> Path:
    """Return where screenshots go: the directory that BOOSTER_SCREENSHOTS names, else `folder`."""
    named = Path(os.environ.get("BOOSTER_SCREENSHOTS") or folder)
    named.mkdir(parents=True, exist_ok=True)
    return named
