"""A model's reply to a list of proposals: the one way in.

The order of the pipeline: normalise; drop the thinking at the front; JSON, standard first, then as models write it; lists
in prose; else a typed reason. Above stand the provider chain and its journal; below the modules that do one stage each.
Nothing here raises, whatever the reply holds, and the work grows linearly with its length.
"""

from providers.json_spans import read_json, without_objects
from providers.proposal_items import NOTHING, Reading, tidy
from providers.prose import read_prose
from providers.reply_text import answer_block, normalise, visible_part
from providers.types import Proposal

__all__ = ["parse_proposals"]

_CUT = frozenset({"length", "max_tokens", "max_output_tokens", "model_length", "incomplete"})
_REFUSED = frozenset({"content_filter", "refusal", "safety", "prohibited_content"})
_MAX_NESTING = 3
"""How often a reply may be found inside a string of another reply."""


def parse_proposals(
    reply: object, finish_reason: str | None = None, limit: int | None = None
) -> tuple[list[Proposal], str | None]:
    """Read the proposals out of a model's reply.

    Args:
        reply: Message content as the model returned it. Anything but a string counts as empty.
        finish_reason: As the server reports it; `length` and its like mean that the reply was cut: whole items are
            kept and the cut one is dropped.
        limit: Most proposals to return; None = all.

    Returns:
        The proposals in the order written, and None; or an empty list and the reason: `empty`, `thinking_truncated`
        (nothing but unfinished thinking), `refusal` (as the server or a `refusal` field says) or `not_a_list`.
    """
    reason = finish_reason.lower() if isinstance(finish_reason, str) else ""
    cut = reason in _CUT
    text = normalise(reply) if isinstance(reply, str) else ""
    visible = visible_part(text, cut=cut)
    proposals = tidy(_read(visible.text, cut=cut, nesting=0), limit) if visible.text else []
    if proposals:
        return proposals, None
    if reason in _REFUSED or visible.text.startswith('{"refusal"'):
        return [], "refusal"
    if visible.truncated or (cut and not visible.text):
        return [], "thinking_truncated"
    return [], "not_a_list" if visible.text else "empty"


def _read(text: str, *, cut: bool, nesting: int) -> Reading:
    """Read one visible text: what an answer tag holds first, then all of it."""
    block = answer_block(text)
    for part in (block, text):
        if part is not None and (found := _read_part(part.strip(), cut=cut, nesting=nesting)).items:
            return found
    return NOTHING


def _read_part(text: str, *, cut: bool, nesting: int) -> Reading:
    def nested(inner: str) -> Reading:
        return _read(inner.strip(), cut=cut, nesting=nesting + 1) if nesting < _MAX_NESTING else NOTHING

    found = read_json(text, cut=cut, nested=nested)
    return found if tidy(found, 1) else read_prose(without_objects(text), cut=cut)
