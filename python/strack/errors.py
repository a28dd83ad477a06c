"""What can go wrong, in the words of the command line."""


class ScenarioError(ValueError):
    """A scenario makes no sense; the text is what `strack sim run` would print after "error: ".

    `file` is the scenario's name ("--set" for a value that was set in Python) and `line` the line in it, 0 where no single
    line is to blame.
    """

    def __init__(self, text, file="", line=0):
        super().__init__(text)
        self.file = file
        self.line = line


class RunError(RuntimeError):
    """Something cannot be run, read or written; the text says what, and what would work."""


class TransportError(OSError):
    """What an endpoint over UDP says (strack.udp); `status` is the C interface's, 0 where it is not at fault."""

    def __init__(self, text, status=0):
        super().__init__(text)
        self.status = status
