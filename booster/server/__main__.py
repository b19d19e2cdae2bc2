"""`python -m booster.server` serves MCP on standard input and output, like `booster serve`."""

import asyncio
import sys

from booster.errors import BoosterError
from booster.journal.errors import JournalError
from booster.server.stdio import serve_stdio
from booster.settings import Settings


def main() -> int:
    """Serve; return the exit code."""
    try:
        asyncio.run(serve_stdio(Settings.load()))
    except (BoosterError, JournalError) as error:
        print(error, file=sys.stderr)
        return getattr(error, "exit_code", 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
