"""Several processes, and processes that are killed."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from booster.journal import SessionBusy
from tests.booster.journal.journal_samples import a_call, opened, resumed

ADD = """
import asyncio, sys
from booster.journal import StateConflict
from tests.booster.journal.journal_samples import a_call, opened, pay, started

async def count(journal):
    for _ in range(25):
        while True:
            rev, state = await journal.load_state("shared") or (None, {"n": 0})
            try:
                await journal.save_state("shared", rev, {"n": state["n"] + 1})
                break
            except StateConflict:
                pass

async def main():
    async with opened(sys.argv[1]) as journal:
        epoch, ledger = await started(journal, sys.argv[2])
        rows = [journal.append(sys.argv[2], epoch, [("a", {"n": n})]) for n in range(60)]
        calls = [pay(ledger, a_call(f"it{n}/candidate1")) for n in range(60)]
        await asyncio.gather(count(journal), *rows, *calls)

asyncio.run(main())
"""

WORK = """
import asyncio, sys
from tests.booster.journal.journal_samples import a_call, a_reply, opened, started

async def worker(journal, epoch, ledger, number):
    turn = 0
    while True:
        turn += 1
        ticket = await ledger.open(a_call(f"it{turn}/candidate{number}"))
        print("opened", ticket.call.step_key, flush=True)
        await ledger.close(ticket, a_reply(f"reply {turn} {number}"))
        print("closed", ticket.call.step_key, flush=True)
        for event in await journal.append("ses_a", epoch, [("a", {"by": number, "turn": turn})]):
            print("event", event.seq, flush=True)

async def main():
    async with opened(sys.argv[1]) as journal:
        epoch, ledger = await started(journal)
        await asyncio.gather(*(worker(journal, epoch, ledger, number) for number in range(4)))

asyncio.run(main())
"""


@contextmanager
def python(script: str, *arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """Run a script in the repository's root and kill it at the end."""
    command = [sys.executable, "-c", script, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]) as process:
        try:
            yield process
        finally:
            process.kill()


async def test_two_processes_share_one_new_journal_and_no_row_is_lost(lasting_url: str) -> None:
    with python(ADD, lasting_url, "ses_1") as one, python(ADD, lasting_url, "ses_2") as other:
        assert (await asyncio.to_thread(one.wait), await asyncio.to_thread(other.wait)) == (0, 0)

    async with opened(lasting_url) as journal:
        for session_id in ("ses_1", "ses_2"):
            record = await journal.load(session_id)
            assert [event.seq for event in record.events] == list(range(1, 61))
            assert sorted(event.data["n"] for event in record.events) == list(range(60))
            assert len(await journal.calls(session_id)) == 60
        state = await journal.load_state("shared")
        assert state == (50, {"n": 50})


@pytest.mark.parametrize("lines", [1, 2, 5, 17, 60, 250])
async def test_whatever_returned_before_a_kill_is_there_after_it(lasting_url: str, lines: int) -> None:
    """kill -9 after so many lines of output; at most the calls in flight are lost."""
    with python(WORK, lasting_url) as process:
        assert process.stdout is not None
        printed = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        printed += process.stdout.read().splitlines(keepends=True)
    said = [line.split() for line in printed if line.endswith("\n")]  # the last may be cut by the kill

    promised = {kind: {words[1] for words in said if words[0] == kind} for kind in ("opened", "closed", "event")}
    async with opened(lasting_url) as journal:
        epoch, ledger = await resumed(journal)
        record = await journal.load("ses_a")
        calls = (await journal.export("ses_a"))["calls"]
        states = {call["stepKey"]: call["state"] for call in calls}

        assert epoch == 2
        assert promised["event"] <= {str(event.seq) for event in record.events}
        assert [event.seq for event in record.events] == list(range(1, len(record.events) + 1))
        assert promised["opened"] <= states.keys()
        assert {states[key] for key in promised["closed"]} <= {"done"}
        assert set(states.values()) <= {"done", "lost"}
        assert ledger.spent.lost <= 4
        for key in promised["closed"]:
            assert (await ledger.open(a_call(key))).recalled is not None


async def test_a_session_of_a_living_process_is_busy_until_that_is_killed(lasting_url: str) -> None:
    async with opened(lasting_url) as journal:
        with python(WORK, lasting_url) as process:
            assert process.stdout is not None
            process.stdout.readline()
            owner = (await journal.load("ses_a")).owner
            assert journal.is_alive(owner)
            with pytest.raises(SessionBusy, match=str(process.pid)):
                await journal.take_over("ses_a", again=True)
            with pytest.raises(SessionBusy):
                await journal.delete("ses_a")

            process.kill()
            process.wait()

        assert not journal.is_alive(owner)
        assert await journal.take_over("ses_a") == 2
