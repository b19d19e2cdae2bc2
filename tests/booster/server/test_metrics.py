"""`/metrics` over a real socket: its numbers are those of the journal."""

import asyncio
import json
import re
import socket
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import uvicorn
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette

from booster.app import Booster
from booster.config import Price
from booster.server.metrics import routes
from booster.telemetry.metrics import PrometheusMeter
from providers.errors import RejectedError, TransientError
from providers.scripted import Line
from providers.types import Call
from tests.booster.server.http_door import http_door
from tests.solving import a_booster, answer

ROOT = Path(__file__).resolve().parents[3]

VOTE = {"granularity": "answer", "scheduler": "system2", "iterations": 1, "numCandidates": 3, "select": "vote"}

Numbers = dict[tuple[str, str], float]
"""(name, values of the labels in the order of their names) -> value."""


@asynccontextmanager
async def scraped(booster: Booster) -> AsyncIterator[httpx2.AsyncClient]:
    """Serve the metrics of a booster on a port of this machine, and give a client of it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(Starlette(routes=routes(booster)), log_config=None, lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}") as client:
            yield client
    finally:
        server.should_exit = True
        await task
        listener.close()


async def numbers(client: httpx2.AsyncClient) -> Numbers:
    """Scrape once."""
    page = await client.get("/metrics")
    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/plain")
    return {
        (sample.name, ",".join(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(page.text)
        for sample in family.samples
    }


def of(found: Numbers, name: str) -> dict[str, float]:
    """Return one metric by its labels."""
    return {labels: value for (metric, labels), value in found.items() if metric == f"booster_{name}"}


def one_of_each(call: Call) -> Line:
    """Return a script in which one answer needs a retry, one is refused and one is simply given."""
    if call.step_key.endswith("answer2"):
        return RejectedError("no", kind="http_400", provider="simulated")
    return answer("42")


async def test_the_numbers_are_those_of_the_journal() -> None:
    attempts: list[str] = []

    def script(call: Call) -> Line:
        attempts.append(call.step_key)
        if call.step_key.endswith("answer1") and attempts.count(call.step_key) == 1:
            return TransientError("busy", kind="http_503", provider="simulated", retry_after=0.0)
        return one_of_each(call)

    prices = {"simulated/script": Price(input_per_m_tok=1000, output_per_m_tok=2000)}
    async with a_booster(script, config=VOTE, prices=prices) as booster, scraped(booster) as client:
        result = await booster.solve("6 * 7?")
        calls = (await booster.journal.export(result.session_id))["calls"]
        found = await numbers(client)

    usage = result.usage
    assert len(calls) == usage["calls"] == 4
    assert of(found, "llm_calls_total") == {"ok,generate": 2, "transient,generate": 1, "rejected,generate": 1}
    assert of(found, "llm_tokens_total") == {"prompt": usage["promptTokens"], "completion": usage["completionTokens"]}
    assert round(of(found, "llm_cost_usd_total")[""], 9) == round(usage["costUsd"], 9) > 0
    assert of(found, "llm_unpriced_calls_total") == {"": 0}
    assert of(found, "llm_latency_seconds_count") == {"": 4}
    assert of(found, "journal_commit_seconds_count") == {"": 4}  # the intents: nobody waits for outcomes
    assert of(found, "solves_total") == {"done": 1, "degraded": 0, "cancelled": 0, "failed": 0}
    assert of(found, "inflight") == {"calls": 0, "solves": 0}
    assert of(found, "replayed_steps_total") == {"": 0}


async def test_what_is_under_way_and_how_solves_end_is_counted() -> None:
    """One solve that hangs in its only call and is cancelled, one without any model."""
    async with a_booster([None], config={"scheduler": "system1"}) as booster, scraped(booster) as client:
        session_id = await booster.begin("6 * 7?")
        while of(amid := await numbers(client), "inflight")["calls"] < 1:
            await asyncio.sleep(0.01)
        await booster.cancel(session_id)
        await booster.solve("6 * 7?", provider="heuristic", iterations=1)
        after = await numbers(client)

    assert of(amid, "inflight") == {"calls": 1, "solves": 1}
    assert of(after, "inflight") == {"calls": 0, "solves": 0}
    assert of(after, "solves_total") == {"done": 0, "degraded": 1, "cancelled": 1, "failed": 0}
    assert of(after, "llm_calls_total") == {"cancelled,generate": 1}


async def test_a_reply_without_a_price_is_counted_apart() -> None:
    config = {"scheduler": "system1", "iterations": 1}
    async with a_booster([answer("42")], config=config) as booster, scraped(booster) as client:
        await booster.solve("6 * 7?")
        found = await numbers(client)

    assert (of(found, "llm_cost_usd_total"), of(found, "llm_unpriced_calls_total")) == ({"": 0}, {"": 1})


async def test_what_a_resumed_solve_recalls_is_not_counted_as_paid(tmp_path: Path) -> None:
    def hanging(call: Call) -> Line:
        return None if call.step_key.endswith("answer3") else answer(call.step_key[-1])

    async with a_booster(hanging, home=tmp_path, config=VOTE) as booster:
        session_id = await booster.begin("6 * 7?")
        while (await booster.result(session_id)).diagnostics["successes"] < 2:
            await asyncio.sleep(0.01)
    async with (
        a_booster(lambda _: answer("3"), home=tmp_path, config=VOTE) as booster,
        scraped(booster) as client,
    ):
        result = await booster.resume(session_id)
        found = await numbers(client)

    assert of(found, "replayed_steps_total") == {"": 2}
    assert sum(of(found, "llm_calls_total").values()) == result.usage["calls"] - 3 == 1


async def test_no_label_tells_sessions_tasks_or_models_apart() -> None:
    config = {"scheduler": "system1", "iterations": 1}
    async with a_booster(lambda _: answer("42"), config=config) as booster, scraped(booster) as client:
        for n in range(3):
            await booster.solve(f"the-question {n}", fastModel=f"simulated/model-{n}")
        found = await numbers(client)
        page = (await client.get("/metrics")).text

    assert of(found, "llm_calls_total") == {"ok,generate": 3}
    assert not any(word in page for word in ("ses_", "the-question", "simulated"))


async def test_two_applications_over_one_booster_show_the_same() -> None:
    config = {"scheduler": "system1", "iterations": 1}
    async with a_booster([answer("42")], config=config) as booster, scraped(booster) as one, scraped(booster) as other:
        await booster.solve("6 * 7?")

        assert await numbers(one) == await numbers(other)


async def test_the_newer_form_is_given_to_whoever_asks_for_it() -> None:
    async with a_booster() as booster, scraped(booster) as client:
        page = await client.get("/metrics", headers={"accept": "application/openmetrics-text; version=1.0.0"})

    assert page.headers["content-type"].startswith("application/openmetrics-text")
    assert page.text.endswith("# EOF\n")


def test_the_page_on_observability_lists_every_metric_and_no_other() -> None:
    page = (ROOT / "docs" / "observability.md").read_text(encoding="utf-8")
    families = text_string_to_metric_families(PrometheusMeter().page()[0].decode())

    documented = re.findall(r"^\| `(booster_\w+?)(?:_total)?(?:\{[\w,]+\})?` \|", page, flags=re.MULTILINE)
    # Beside every counter and histogram the library shows when it was created.
    assert sorted(documented) == sorted(family.name for family in families if not family.name.endswith("_created"))


async def test_the_application_shows_them_to_whoever_has_the_token() -> None:
    async with a_booster() as booster, http_door(booster) as door:
        refused, shown = await door.stranger.get("/metrics"), await door.client.get("/metrics")

    assert (refused.status_code, shown.status_code) == (401, 200)
    assert "booster_solves_total" in shown.text


WITHOUT = """
import asyncio, json, sys
for name in ("prometheus_client", "opentelemetry.sdk"):
    sys.modules[name] = None

import httpx2
from starlette.applications import Starlette
from booster.server.metrics import routes
from tests.solving import a_booster, answer

async def main():
    async with a_booster([answer("42")], config={"scheduler": "system1", "iterations": 1}) as booster:
        transport = httpx2.ASGITransport(app=Starlette(routes=routes(booster)))
        async with httpx2.AsyncClient(transport=transport, base_url="http://here") as client:
            page = await client.get("/metrics")
        result = await booster.solve("6 * 7?")
        events = (await booster.journal.load(result.session_id)).events
    print(json.dumps([page.status_code, page.text, result.answer, [event.type for event in events]]))

asyncio.run(main())
"""


def test_without_the_extras_a_solve_goes_on_as_ever_and_metrics_say_what_to_install() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=ROOT, capture_output=True, text=True, timeout=120, check=False
    )

    assert done.returncode == 0, done.stderr
    status, text, solved, events = json.loads(done.stdout)
    assert status == 501
    assert "reasoning-booster[metrics]" in text
    assert solved == "42"
    assert "traced" not in events
