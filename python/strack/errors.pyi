class ScenarioError(ValueError):
    file: str
    line: int
    def __init__(self, text: str, file: str = ..., line: int = ...) -> None: ...

class RunError(RuntimeError): ...

class TransportError(OSError):
    status: int
    def __init__(self, text: str, status: int = ...) -> None: ...
