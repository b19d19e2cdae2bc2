"""The attribute names of our spans, in the only place that knows them.

`gen_ai.*` follows OpenTelemetry's semantic conventions for generative AI. All of those are still in development, so we keep
names of our own instead of importing constants that the next release may withdraw. `booster.*` is what the conventions
have no word for.
"""

from typing import Final

OPERATION: Final = "gen_ai.operation.name"
WORKFLOW_NAME: Final = "gen_ai.workflow.name"
AGENT_NAME: Final = "gen_ai.agent.name"
CONVERSATION: Final = "gen_ai.conversation.id"
"""The session id."""

PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
REQUEST_MAX_TOKENS: Final = "gen_ai.request.max_tokens"
REQUEST_PREFIX: Final = "gen_ai.request."
RESPONSE_MODEL: Final = "gen_ai.response.model"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"

INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
REASONING_TOKENS: Final = "gen_ai.usage.reasoning.output_tokens"

INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"

ERROR_TYPE: Final = "error.type"

ROLE: Final = "booster.role"
"""What the call is for: `generate`, `judge`, ..."""
STEP_KEY: Final = "booster.step_key"
ATTEMPTS: Final = "booster.attempts"
"""Attempts that were paid, retries and re-asks included."""
CANCELLED: Final = "booster.cancelled"
"""The work was withdrawn before its end."""
ESTIMATED: Final = "booster.usage.estimated"
COST: Final = "booster.cost_usd"
"""US dollars; missing = unknown."""

ITERATION: Final = "booster.iteration"
GRANULARITY: Final = "booster.granularity"
MODE: Final = "booster.mode"
"""`system1` or `system2`."""
ESCALATED: Final = "booster.escalated"
RESUMED: Final = "booster.resumed"
CANDIDATES: Final = "booster.candidates"
CHOSEN: Final = "booster.chosen"
PROBLEMS: Final = "booster.problems"

STATUS: Final = "booster.status"
ANSWER_STATUS: Final = "booster.answer_status"
STOP_REASON: Final = "booster.stop_reason"
CONFIDENCE: Final = "booster.confidence"
DEGRADED: Final = "booster.degraded"
RECALLED: Final = "booster.recalled"
"""Attempts that were found in the journal and not paid again."""
