"""Everything that can go wrong when the scheduler is asked or told something.

SchedulerError
├── InvalidInputError      an argument is no number, out of range or an unknown word; names the field
├── UnknownSessionError    no session of this name is open
├── UnknownDecisionError   no decision of this id is pending or remembered
├── StateError             a saved state is damaged, of another version or of another policy
│   └── SetAsideError      a file was unreadable; it was kept under another name
└── StoreConflictError     another process wrote the namespace first (compare-and-swap lost)
"""


class SchedulerError(Exception):
    """Base of all errors of this library. The text is for people: what is wrong and what would be right."""


class InvalidInputError(SchedulerError, ValueError):
    """An argument cannot be used.

    Args:
        field: Name of the argument as the caller wrote it.
        problem: What is wrong with it, without the name.
    """

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field


class UnknownSessionError(SchedulerError):
    """No session of this name is open; `open_session` opens one."""


class UnknownDecisionError(SchedulerError):
    """The decision id was never given out by this session, or is so old that it was dropped."""


class StateError(SchedulerError):
    """A saved state cannot be loaded: damaged, of an unknown version, or written by another policy."""


class SetAsideError(StateError):
    """A file could not be read and was renamed to `.bak`, so that nothing is lost and work can go on without it."""


class StoreConflictError(SchedulerError):
    """The namespace changed between reading and writing; read again, apply the new experience again, write again."""
