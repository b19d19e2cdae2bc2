"""The viewer in a real browser: watching, coming back, stopping and going on."""

import asyncio
from collections.abc import Callable
from pathlib import Path

from playwright.async_api import Page, Request, expect

from booster.app import Booster
from booster.config import Config
from booster.settings import Endpoint, Settings
from providers.scripted import Line
from providers.simulated import SimulatedModel, SimulatedServer, demo_tasks
from providers.types import Call
from tests.browser.watching import Visit, a_browser, a_visit, needs_chromium, screenshots, site
from tests.solving import a_booster, fresh_steps, scripted

pytestmark = needs_chromium

TASK = demo_tasks(1)[0]

STEPWISE = {"granularity": "step", "scheduler": "system2", "select": "score", "iterations": 8}


def hangs_at(iteration: int, *, freed: asyncio.Event | None = None) -> Callable[[Call], Line]:
    """Return a script whose calls never return from this iteration on, until they are freed."""

    def line(call: Call) -> str | None:
        number = int(call.step_key.partition("/")[0][2:])
        return None if number >= iteration and not (freed and freed.is_set()) else fresh_steps(call)

    return scripted(steps=line, answer="{}", final='{"answer": "42"}')


async def open_page(visit: Visit, url: str) -> Page:
    await visit.page.goto(url)
    await expect(visit.page.locator("#connection")).to_have_attribute("data-state", "live")
    return visit.page


async def test_a_solve_on_the_simulated_model_is_watched_to_its_end(tmp_path: Path) -> None:
    model = SimulatedModel(accuracy=1, latency=0.15, jitter=0.1, tasks=(TASK,))
    async with SimulatedServer(model) as server, a_browser() as browser:
        endpoint = Endpoint(base_url=server.base_url, model="simulated/large")
        settings = Settings(
            home=tmp_path, journal_url=f"sqlite:///{tmp_path / 'booster.db'}", endpoints={"local": endpoint},
            config=Config.parse(STEPWISE)[0],
        )  # fmt: skip
        async with Booster.open(settings) as booster, site(booster) as where, a_visit(browser, where) as visit:
            page = await open_page(visit, where.url)
            await expect(page.locator("#empty")).to_contain_text("booster solve")
            session_id = await booster.begin(TASK.task)

            await page.get_by_role("link", name=TASK.task[:30]).click()
            await page.mouse.move(0, 0)  # what the pointer rests on stays open
            await expect(page.locator(".head .state")).to_have_text("running")
            await expect(page.locator("#iteration-1")).to_be_visible()
            await expect(page.locator("#iteration-2")).to_be_visible()
            await expect(page.locator("#connection")).to_have_text("up to date", timeout=30_000)

            result = await booster.result(session_id)
            await expect(page.locator(".head .state")).to_have_text("done")
            await expect(page.locator(".answer")).to_have_text(result.answer or "")
            await expect(page.locator("#budget .meters div").first).to_contain_text(f"{result.usage['calls']} of 24")
            await expect(page.locator("#raw > details")).to_have_count(result.usage["calls"])
            await expect(page.locator(".iteration[open]")).to_have_count(1)
            await expect(page.locator(".iteration")).to_have_count(len((await booster.session(session_id)).history))
            await expect(page.locator("#announcer")).to_contain_text("Session done")
            await page.screenshot(path=screenshots(tmp_path) / "watched.png", full_page=True)

            await page.get_by_role("link", name="Sessions").first.click()
            await expect(page.locator("#rows tr")).to_have_count(1)
            await expect(page.locator("#rows .state")).to_have_text("done")
        assert visit.complaints == []


async def test_after_a_restart_of_the_server_the_page_goes_on_where_it_was(tmp_path: Path) -> None:
    freed = asyncio.Event()
    script = hangs_at(3, freed=freed)
    async with a_browser() as browser, a_visit(browser) as visit:
        page = visit.page
        async with a_booster(script, home=tmp_path, config=STEPWISE) as booster, site(booster) as where:
            await visit.sign_in(where)
            session_id = await booster.begin("Count the tiles")
            await open_page(visit, where.session(session_id))
            await expect(page.locator("#iteration-3")).to_be_visible()
            await page.locator("#call-1 > summary").click()
            seen = (await booster.journal.load(session_id)).events[-1].seq
        await expect(page.locator("#connection")).to_have_text("reconnecting…")

        async with a_booster(script, home=tmp_path, config=STEPWISE) as booster, site(booster, before=where):
            async with page.expect_request(lambda request: "/events" in request.url, timeout=30_000) as asked:
                await expect(page.locator("#connection")).to_have_attribute("data-state", "live", timeout=30_000)
            assert f"after={seen}" in (await asked.value).url or await _last_event_id(await asked.value) == str(seen)
            await expect(page.locator(".head .state")).to_have_text("orphaned")

            freed.set()
            await page.get_by_role("button", name="Resume").click()
            await expect(page.locator("#iteration-4")).to_be_visible()
            await expect(page.locator(".head .state")).to_have_text("done", timeout=30_000)
            await expect(page.locator("#call-1")).to_have_attribute("open", "")
            await expect(page.locator("#iteration-3")).to_contain_text("took it up from the journal")


async def test_a_page_that_was_signed_out_says_so_and_goes_on_once_somebody_has_signed_in(tmp_path: Path) -> None:
    async with (
        a_browser() as browser,
        a_booster(hangs_at(1), home=tmp_path, config=STEPWISE) as booster,
        site(booster) as where,
        a_visit(browser, where) as visit,
    ):
        page = await open_page(visit, where.url)
        await booster.begin("Count the tiles")
        await expect(page.locator("#rows tr")).to_have_count(1)

        await page.context.clear_cookies()
        await booster.begin("Count them again")
        await expect(page.locator("#connection")).to_contain_text("signed out", timeout=15_000)
        await expect(page.locator("#away a")).to_be_visible()
        await expect(page.locator("#away a")).to_have_attribute("href", "/sign-in?next=/")
        await visit.sign_in(where)

        await expect(page.locator("#rows tr")).to_have_count(2, timeout=15_000)
        await expect(page.locator("#connection")).to_have_text("live")
        await expect(page.locator("#away")).to_be_hidden()


async def test_the_list_counts_the_calls_of_what_runs(tmp_path: Path) -> None:
    async with (
        a_browser() as browser,
        a_booster(hangs_at(3), home=tmp_path, config=STEPWISE) as booster,
        site(booster) as where,
        a_visit(browser, where) as visit,
    ):
        page = await open_page(visit, where.url)
        await booster.begin("Count the tiles")

        await expect(page.locator("#rows tr .num").first).to_have_text("3", timeout=15_000)
        await expect(page.locator("#rows tr .answer-cell")).to_have_text("–")


async def test_a_session_that_is_deleted_is_said_to_be_gone(tmp_path: Path) -> None:
    async with (
        a_browser() as browser,
        a_booster(hangs_at(1), home=tmp_path, config=STEPWISE) as booster,
        site(booster) as where,
        a_visit(browser, where) as visit,
    ):
        session_id = await booster.begin("Count the tiles")
        page = await open_page(visit, where.session(session_id))

        await booster.cancel(session_id)
        await expect(page.locator(".head .state")).to_have_text("cancelled")
        await booster.journal.delete(session_id)
        await page.get_by_role("button", name="Resume").click()

        await expect(page.locator("#connection")).to_have_text("deleted")


async def _last_event_id(request: Request) -> str | None:
    return (await request.all_headers()).get("last-event-id")


async def test_a_session_is_cancelled_with_the_keyboard_alone(tmp_path: Path) -> None:
    async with a_browser() as browser, a_booster(hangs_at(2), home=tmp_path, config=STEPWISE) as booster:
        async with site(booster) as where, a_visit(browser, where) as visit:
            session_id = await booster.begin("Count the tiles")
            page = await open_page(visit, where.session(session_id))
            await expect(page.locator("#iteration-2")).to_be_visible()

            await page.keyboard.press("Tab")
            await expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
            await page.keyboard.press("Enter")
            for _ in range(2):  # the way back to the list, then the button
                await page.keyboard.press("Tab")
            await expect(page.get_by_role("button", name="Cancel")).to_be_focused()
            await page.keyboard.press("Enter")

            await expect(page.locator(".head .state")).to_have_text("cancelled")
            assert await page.evaluate("document.activeElement !== document.body")
            assert not booster.is_running(session_id)
            await expect(page.get_by_role("button", name="Resume")).to_be_visible()
        assert visit.complaints == []


async def test_what_the_reader_opened_and_focused_survives_updates(tmp_path: Path) -> None:
    async with a_browser() as browser:
        script = scripted(steps=fresh_steps, answer="{}", final='{"answer": "42"}')
        async with a_booster(script, delay=0.5, home=tmp_path, config={**STEPWISE, "iterations": 6}) as booster:
            async with site(booster) as where, a_visit(browser, where) as visit:
                session_id = await booster.begin("Count the tiles")
                page = await open_page(visit, where.session(session_id))
                await expect(page.locator("#iteration-2")).to_be_visible()
                await page.locator("#call-1 > summary").focus()
                await page.keyboard.press("Enter")
                await expect(page.locator("#call-1")).to_have_attribute("open", "")

                await expect(page.locator(".head .state")).to_have_text("done", timeout=30_000)
                await expect(page.locator("#call-1 > summary")).to_be_focused()
                await expect(page.locator("#call-1")).to_have_attribute("open", "")
                await expect(page.locator("#raw > details[open]")).to_have_count(1)
            assert visit.complaints == []
