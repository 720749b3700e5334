"""The one exception that is a message to a person: one line, no traceback, exit code 2."""


class UserError(ValueError):
    """What was given cannot work; the message says what was given, what is expected and what to do."""
