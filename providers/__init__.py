"""Who proposes: sources of model content, one way to send, one way to read what comes back."""

from providers.parsing import parse_proposals

__all__ = ["parse_proposals"]
