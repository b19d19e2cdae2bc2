"""The version that is installed."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "reasoning-booster"
"""Name of the distribution, and of the MCP server."""


def installed_version() -> str:
    """Return the version of the installed distribution; `0+checkout` where the code runs without one."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0+checkout"
