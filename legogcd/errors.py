"""What ends a command in one line, without a traceback: a mistake a person can mend, and a stop on request."""


class UserError(ValueError):
    """What was given cannot work; the message says what was given, what is expected and what to do."""


class DamagedFileError(UserError):
    """A file does not hold what was written into it."""


class Interrupted(KeyboardInterrupt):
    """Work stopped on request; the message says what is saved."""
