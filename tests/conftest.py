"""What every test run needs, however it was started."""

import signal


def pytest_configure() -> None:
    """Take Ctrl-C back where the shell that started us in the background ignores it: our children would ignore it, too."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
