"""Everything that can go wrong between a candidate and what is said of it.

VerifierError
├── CheckError           a check cannot be used as it was given; the text names the field and the fix
├── NoCandidatesError    there is nothing to choose from: no sample, or every sample abstained
└── SandboxRefused       code was not run, because it could not be shut in
"""


class VerifierError(Exception):
    """Base of all errors of this library. The text is for people: what is wrong, where, and what to do."""


class CheckError(VerifierError):
    """A check was specified wrongly.

    Args:
        message: What is wrong and how to mend it, without the name of the field.
        field: Path inside the check, for example `value`, `options.rel` or `value.properties.name.pattern`.
    """

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(f"{field}: {message}")
        self.field = field


class NoCandidatesError(VerifierError):
    """Nothing can win: no sample was drawn, or none of them carries an answer that could be read."""


class SandboxRefused(VerifierError):
    """A wall of the sandbox is missing here, so that nothing was run; the text says which."""
