"""The core tools: what each takes, does and answers.

One function a tool, `(door, ctx, arguments, warnings) -> answer`; `booster.server.mcp` publishes them. What they raise
becomes a readable error there.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, InputRequiredResult

from booster.app import StepResult
from booster.errors import OutputPathError
from booster.journal import SessionRecord
from booster.output import OutputFile, OutputFormat, output_file
from booster.result import SolveResult
from booster.server.arguments import (
    DEFAULT_WAIT,
    GetStateArguments,
    MultiStepArguments,
    SessionArguments,
    SessionsArguments,
    SolveArguments,
    StartArguments,
    StepArguments,
)
from booster.server.door import Door
from booster.server.results import (
    answered,
    candidate_document,
    candidate_documents,
    listed,
    session_document,
    session_text,
    solved,
    state_document,
    unfinished,
)
from booster.session import Session
from verifier.types import Candidate

Ctx = Context[Any, Any]
Answer = CallToolResult | InputRequiredResult


async def solve(door: Door, ctx: Ctx, given: SolveArguments, warnings: list[str]) -> Answer:
    """Solve a task, for as long as the client waits; go on afterwards."""
    leg = door.leg(ctx, given.wait_seconds)
    if leg is None:
        output = _output(door, given)
        budget, complaints = given.parsed_budget()
        warnings += complaints
        options: dict[str, Any] = {} if given.iterations is None else {"iterations": given.iterations}
        session_id = await door.solve(
            ctx,
            given.task,
            output,
            checks=given.parsed_checks(),
            budget=budget,
            expected_answer_format=given.expected_answer_format or "",
            config=given.config or {},
            **options,
        )
        leg = door.first_leg(session_id, given.wait_seconds)
    attended = await door.attend(ctx, leg, withdraws=True)
    if isinstance(attended, InputRequiredResult):
        return attended
    full = given.detail == "full"
    if isinstance(attended, str) or full:
        result = await door.booster.result(leg.session_id, full=full)
        closed = (await door.booster.session(leg.session_id)).iteration
    else:
        assert isinstance(attended, SolveResult)  # a solve ends so
        result, closed = attended, 0
    document, text = unfinished(result, closed, attended) if isinstance(attended, str) else solved(result)
    if given.output_path is not None:
        document["output"] = door.output(leg.session_id) or _pending(door, given)
        text += _said_of(document["output"])
    return _answer(door, document, text, warnings)


async def start(door: Door, ctx: Ctx, given: StartArguments, warnings: list[str]) -> Answer:
    """Open a session and run nothing."""
    session = await door.booster.start(given.task, config=given.config or {})
    document = {
        "sessionId": session.id, "state": state_document(session), "config": session.config.plain(),
        "warnings": list(session.warnings),
    }  # fmt: skip
    text = f"Session {session.id} is open. Call step or multi-step with this sessionId."
    return _answer(door, document, text, warnings)


async def step(door: Door, ctx: Ctx, given: StepArguments, warnings: list[str]) -> Answer:
    """Run one iteration, with a model's candidates or the caller's own."""
    leg = door.leg(ctx, DEFAULT_WAIT)
    if leg is None:
        await door.step(
            ctx,
            given.session_id,
            proposals=given.parsed_proposals(),
            override_num_candidates=given.override_num_candidates,
        )
        leg = door.first_leg(given.session_id, DEFAULT_WAIT)
    attended = await door.attend(ctx, leg, withdraws=True)
    if isinstance(attended, InputRequiredResult):
        return attended
    session = attended.session if isinstance(attended, StepResult) else await door.booster.session(leg.session_id)
    result = attended.result if isinstance(attended, StepResult) else await door.booster.result(leg.session_id)
    closed = session.history[-1] if isinstance(attended, StepResult) and attended.candidates else None
    candidates = attended.candidates if isinstance(attended, StepResult) else ()
    chosen = attended.chosen if isinstance(attended, StepResult) else None
    document: dict[str, Any] = {
        "sessionId": session.id,
        "status": attended if isinstance(attended, str) else result.status,
        "chosen": candidate_document(chosen) if chosen else None,
        "candidates": candidate_documents(candidates, None if given.detail == "full" else session.config.top_m),
        "state": state_document(session),
        "usage": dict(result.usage),
    }
    if closed is not None:
        document |= {"tie": closed.tie, "decision": {"mode": closed.decision.mode} if closed.decision else None}
    text = _step_text(session, chosen, candidates)
    if isinstance(attended, str):
        unsettled, text = unfinished(result, session.iteration, attended)
        document["next"] = unsettled["next"]
    return _answer(door, document, text, warnings)


async def multi_step(door: Door, ctx: Ctx, given: MultiStepArguments, warnings: list[str]) -> Answer:
    """Run further iterations; take over a session whose process is gone."""
    leg = door.leg(ctx, given.wait_seconds)
    if leg is None:
        await door.multi_step(ctx, given.session_id, given.iterations, given.override_num_candidates)
        leg = door.first_leg(given.session_id, given.wait_seconds)
    attended = await door.attend(ctx, leg, withdraws=True)
    if isinstance(attended, InputRequiredResult):
        return attended
    session = await door.booster.session(leg.session_id)
    result = await door.booster.result(leg.session_id)
    document: dict[str, Any] = {
        "sessionId": session.id, "status": result.status, "state": state_document(session), "stopReason": result.stop_reason,
        "answer": result.answer, "answerStatus": result.answer_status, "usage": dict(result.usage),
    }  # fmt: skip
    if isinstance(attended, str):
        unsettled, text = unfinished(result, session.iteration, attended)
        document |= {"status": attended, "next": unsettled["next"]}
    else:
        text = solved(result)[1]
    return _answer(door, document, text, warnings)


async def get_state(door: Door, ctx: Ctx, given: GetStateArguments, warnings: list[str]) -> Answer:
    """Show a session, waiting for it if asked; carry sampling on where the client's model is needed."""
    session_id = given.session_id.strip()
    leg = door.leg(ctx, DEFAULT_WAIT) or door.first_leg(session_id, given.wait_seconds)
    attended: object = None
    if door.working(session_id):
        attended = await _attended_or_failed(door, ctx, leg)
        if isinstance(attended, InputRequiredResult):
            return attended
    elif given.wait_seconds:
        await door.elsewhere(session_id, given.wait_seconds)
    full = given.detail == "full"
    session = await door.booster.session(session_id)
    result = await door.booster.result(session_id, full=full)
    record = await door.booster.journal.load(session_id)
    is_active = door.booster.journal.is_alive(record.owner)
    is_orphaned = not is_active and _left_unfinished(session, record)
    document = session_document(session, result, is_active=is_active, is_orphaned=is_orphaned, full=full)
    text = session_text(session, result, is_active=is_active, is_orphaned=is_orphaned)
    if attended == "continue":
        document["status"], document["next"] = "continue", unfinished(result, 0, "continue")[0]["next"]
    if (output := door.output(session_id)) is not None:
        document["output"] = output
        text += _said_of(output)
    return _answer(door, document, text, warnings)


async def summarize(door: Door, ctx: Ctx, given: SessionArguments, warnings: list[str]) -> Answer:
    """Say in a few lines what a session has come to."""
    summary = await door.booster.summarize(given.session_id.strip())
    return _answer(door, {"sessionId": given.session_id.strip(), "summary": summary}, summary, warnings)


async def cancel(door: Door, ctx: Ctx, given: SessionArguments, warnings: list[str]) -> Answer:
    """Stop a session and keep its state."""
    session_id = given.session_id.strip()
    ended = (await door.booster.session(session_id)).conclusion is not None
    await door.booster.cancel(session_id)
    result = await door.booster.result(session_id)
    text = f"Session {session_id}: {result.status}. Its state is kept; multi-step goes on with it."
    if ended:
        text = f"Session {session_id} had ended already: {result.status}. There was nothing to stop."
    return _answer(door, {"sessionId": session_id, "status": result.status}, text, warnings)


async def sessions(door: Door, ctx: Ctx, given: SessionsArguments, warnings: list[str]) -> Answer:
    """List the latest sessions."""
    document, text = listed(await door.booster.sessions(status=given.status, limit=given.limit))
    return _answer(door, document, text, warnings)


async def _attended_or_failed(door: Door, ctx: Ctx, leg: Any) -> object:
    """Attend to a session that is looked at; how its work failed stands in its state and is no error of the look."""
    try:
        return await door.attend(ctx, leg, withdraws=False)
    except Exception:  # reported to the call that began the work, and to the log
        return None


def _left_unfinished(session: Session, record: SessionRecord) -> bool:
    """Say whether somebody began work on the session that was neither ended nor taken back."""
    if session.conclusion is not None or record.epoch == 0:
        return False
    return session.opened is not None or session.iteration < session.iterations


def _answer(door: Door, document: Mapping[str, Any], text: str, warnings: Sequence[str]) -> CallToolResult:
    """Return the answer without secrets, with all warnings in one list."""
    every = list(dict.fromkeys([*document.get("warnings", ()), *warnings]))
    redacted: Any = door.redact.redact_value({**document, "warnings": every} if every else dict(document))
    if not every:
        redacted.pop("warnings", None)
    if warnings:
        text = f"{text}\nWarning: {'; '.join(warnings)}"
    return answered(redacted, door.redact(text))


def _output(door: Door, given: SolveArguments) -> tuple[OutputFile, OutputFormat] | None:
    """Decide on the output file before anything is paid for."""
    if given.output_path is None:
        return None
    if door.output_root is None:
        raise OutputPathError(
            "outputPath: this server writes no files; set `outputRoot` to allow it, or leave outputPath out"
        )
    return output_file(given.output_path, door.output_root, overwrite=given.overwrite), given.output_format


def _pending(door: Door, given: SolveArguments) -> dict[str, Any]:
    return {"path": given.output_path, "format": given.output_format, "written": False}


def _said_of(output: Mapping[str, Any]) -> str:
    if output["written"]:
        return f"\nWritten to {output['path']}."
    if "error" in output:
        return f"\nThe result was not written: {output['error']}"
    return f"\nThe result will be written to {output['path']} when the solve has ended."


def _step_text(session: Session, chosen: Candidate | None, candidates: Sequence[Candidate]) -> str:
    if chosen is None:
        return f"Session {session.id}: no step was applied ({len(candidates)} candidates). Call step again."
    lines = [f"Step {len(session.steps)} ({chosen.source}): {chosen.proposal.text}"]
    if chosen.proposal.answer is not None:
        lines.append(f"It carries an answer: {chosen.proposal.answer[:500]}")
    lines += [f"Check {check.check_id}: {check.outcome}" for check in chosen.checks]
    return "\n".join(lines)
