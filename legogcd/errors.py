"""What ends a command in one line, without a traceback: a mistake a person can mend, and a stop on request."""


class UserError(ValueError):
    """What was given cannot work; the message says what was given, what is expected and what to do."""


class DamagedFileError(UserError):
    """A file does not hold what was written into it."""


class UnreadableImage(Exception):  # noqa: N818 - it names the image's state, and callers count it
    """The image cannot be used; ``reason`` says why in a short phrase."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Interrupted(KeyboardInterrupt):
    """Work stopped on request; the message says what is saved."""
