"""The viewer in a real browser: hostile text, small windows, both colour schemes, and the exported file."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from booster.app import Booster
from booster.server.viewer.export import exported
from providers.errors import ProviderError, RejectedError
from providers.types import Call, Reply
from tests.browser.watching import Visit, a_browser, a_visit, needs_chromium, screenshots, site
from tests.solving import DISTINCT, a_booster, kind_of

pytestmark = needs_chromium

HOSTILE = (
    "<script>window.hacked = 1</script>",
    "<img src=x onerror='window.hacked = 2'>",
    "</textarea></title></style><svg onload='window.hacked = 3'>",
    "<a href='javascript:window.hacked = 4'>press</a>",
    "{{ 7 * 7 }}{% raw %}${7*7}",
    "\u202egnisrever\u2066",
    "]]><!--\x1b[2J\x00",
    "\" onmouseover=\"window.hacked = 5\" x=\"",
)  # fmt: skip
POISON = " ".join(HOSTILE)

WIDE = "an_unbroken_word_" * 20


def poisoned(call: Call) -> Reply | ProviderError:
    """Return hostile text wherever a model can put any; the third iteration fails with a hostile error."""
    number = int(call.step_key.partition("/")[0][2:])
    if number == 3:
        return RejectedError(f"refused {POISON}", status=400)
    if kind_of(call) == "steps":
        step = f"{DISTINCT[number]} {POISON}"
        text = json.dumps(
            [{"text": step, "rationale": f"why {POISON}"}, {"text": f"{WIDE} {number}", "rationale": WIDE}]
        )
    else:
        text = json.dumps({"answer": POISON, "rationale": POISON})
    return Reply(text=text, model=f"model {POISON}", provider="simulated", source="simulated", reasoning=POISON)


@asynccontextmanager
async def a_poisoned_session(home: Path) -> AsyncIterator[tuple[Booster, str]]:
    """Yield a booster and the id of a finished session in which every text is hostile."""
    config = {"granularity": "step", "scheduler": "system2", "select": "score", "iterations": 4}
    async with a_booster(poisoned, home=home, config=config) as booster:
        checks = [{"kind": "contains", "value": POISON, "id": "c1"}]
        result = await booster.solve(f"Task {POISON} {WIDE}\nsecond line", checks=checks)
        yield booster, result.session_id


async def hold_inert(page: Page, scripts: int) -> None:
    """Hold that nothing on the page came out of a text as markup."""
    await page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert await page.evaluate("window.hacked") is None
    assert await page.locator("script").count() == scripts
    for never in (
        "img",
        "textarea",
        "iframe",
        "a[href^='javascript']",
        "[onerror]",
        "[onload]",
        "[onmouseover]",
        "[style]",
    ):
        assert await page.locator(f"#main {never}").count() == 0
    text = await page.locator("#main").inner_text()
    for shown in ("<script>window.hacked = 1</script>", "{{ 7 * 7 }}{% raw %}${7*7}", "[U+202E]gnisrever[U+2066]"):
        assert shown in text
    assert not set(text) & set("\u202e\u2066\x1b\x00")


async def hold_narrow(visit: Visit) -> None:
    """Hold that the page is never wider than its window, with everything unfolded."""
    await visit.page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
    assert await visit.overflow() <= 0


async def test_hostile_text_stays_text_on_every_page(tmp_path: Path) -> None:
    async with (
        a_browser() as browser,
        a_poisoned_session(tmp_path) as (booster, session_id),
        site(booster) as where,
        a_visit(browser, where) as visit,
    ):
        await visit.page.goto(where.session(session_id))
        await expect(visit.page.locator("#connection")).to_have_text("up to date")
        await hold_inert(visit.page, scripts=1)
        await expect(visit.page.locator("#iterations")).to_contain_text("refused <script>")

        await visit.page.goto(where.url)
        await expect(visit.page.locator("#rows tr")).to_have_count(1)
        assert await visit.page.locator("#main img, #main script").count() == 0
        assert await visit.page.evaluate("window.hacked") is None
        assert visit.complaints == []


async def test_nothing_is_wider_than_a_window_of_360_pixels(tmp_path: Path) -> None:
    async with (
        a_browser() as browser,
        a_poisoned_session(tmp_path) as (booster, session_id),
        site(booster) as where,
        a_visit(browser, where, width=360) as visit,
    ):
        for path in (f"/sessions/{session_id}", "/", "/scheduler", "/sessions/unknown"):
            await visit.page.goto(f"{where.url}{path}")
            await expect(visit.page.locator("h1, h2").first).to_be_visible()
            await hold_narrow(visit)


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_both_colour_schemes_keep_the_contrast_of_text(scheme: str, tmp_path: Path) -> None:
    folder = screenshots(tmp_path)
    async with (
        a_browser() as browser,
        a_poisoned_session(tmp_path) as (booster, session_id),
        site(booster) as where,
        a_visit(browser, where, scheme=scheme) as visit,  # type: ignore[arg-type]  # one of two
    ):
        for name, path in (("session", f"/sessions/{session_id}"), ("sessions", "/"), ("scheduler", "/scheduler")):
            await visit.page.goto(f"{where.url}{path}")
            await visit.page.screenshot(path=folder / f"{name}-{scheme}.png", full_page=True)
            assert await visit.page.evaluate(_LOW_CONTRAST) == []


async def test_the_exported_file_loads_nothing_and_runs_nothing(tmp_path: Path) -> None:
    async with a_browser() as browser, a_poisoned_session(tmp_path) as (booster, session_id):
        file = tmp_path / "session.html"
        file.write_text(await exported(booster, session_id), encoding="utf-8")
        async with a_visit(browser, width=360) as visit:
            await visit.page.goto(file.as_uri())

            await hold_inert(visit.page, scripts=0)
            await hold_narrow(visit)
            assert visit.requests == [file.as_uri()]
            assert visit.complaints == []
            # The policy let its own style sheet pass.
            assert await visit.page.evaluate("getComputedStyle(document.querySelector('.card')).borderRadius") == "8px"


async def test_motion_stops_for_those_who_ask_for_it(tmp_path: Path) -> None:
    async with (
        a_browser() as browser,
        a_booster(lambda call: None, home=tmp_path) as booster,
        site(booster) as where,
        a_visit(browser, where, reduced_motion="reduce") as visit,
    ):
        session_id = await booster.begin("Wait for ever")
        await visit.page.goto(where.session(session_id))
        lamp = visit.page.locator(".head .state .lamp")
        await expect(lamp).to_be_visible()
        assert await lamp.evaluate("one => getComputedStyle(one).animationName") == "none"


_LOW_CONTRAST = """() => {
  const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const read = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (one) => {
    for (; one; one = one.parentElement) {
      const found = read(getComputedStyle(one).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const one of document.querySelectorAll("body *:not(svg *)")) {
    const said = [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!said || !one.checkVisibility() || one.closest(".unseen")) continue;
    const [a, b] = [light(read(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${one.tagName} ${one.className} ${one.textContent.slice(0, 30)}`);
  }
  return low;
}"""
