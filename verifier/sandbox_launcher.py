"""First program inside the sandbox: takes on the limits and an unprivileged user, then becomes the program to run.

Runs as a script of its own, without site packages, in the interpreter that the sandbox binds; it imports nothing of the
project. Its one argument is JSON: `{user, limits, argv, status}`. On the descriptor `status` it writes `READY` just before
the program takes over, and after that, where the program cannot be started, the reason.
"""

import json
import os
import resource
import sys

READY = b"ready\n"
"""Said when every limit is in force. Without it nothing was run."""


def main() -> None:
    """Become the program; returns never."""
    plan = json.loads(sys.argv[1])
    status: int = plan["status"]
    os.set_inheritable(status, False)  # the program must not see it
    try:
        os.setsid()
        if plan["user"] is not None:
            # The limit on processes does not bind uid 0, and root could undo the others.
            os.setgroups([])
            os.setresgid(*[plan["user"]] * 3)
            os.setresuid(*[plan["user"]] * 3)
        for name, (soft, hard) in plan["limits"].items():
            resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (soft, hard))
    except (OSError, ValueError) as error:
        _end(status, f"the limits cannot be set: {error}".encode())
    try:
        os.write(status, READY)
    except BrokenPipeError:
        os._exit(127)  # whoever wanted this is dead, perhaps before bubblewrap could ask to die with it
    try:
        os.execvp(plan["argv"][0], plan["argv"])  # noqa: S606  no shell is wanted
    except (OSError, ValueError) as error:
        _end(status, f"cannot run {plan['argv'][0]!r}: {error}".encode(errors="replace"))


def _end(status: int, reason: bytes) -> None:
    os.write(status, reason)
    os._exit(127)


if __name__ == "__main__":
    main()
