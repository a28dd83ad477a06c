"""A run of a sweep: its request on standard input, progress and the ending on standard output, as lines of JSON."""

import json
import signal
import sys
import threading

from . import _core
from .errors import RunError


def _tell(**words):
    print(json.dumps(words), flush=True)


def main():
    request = json.load(sys.stdin)
    stop = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())

    def progress(state):
        _tell(share=min(1.0, state["bytes_acked"] / state["bytes"]) if state["bytes"] else 0)

    try:
        # What lies there is partial: sweep() has looked.
        ended = _core.run(request["file"], request["text"], request["set"], request["seed"], request["threads"], request["out"],
                          True, 0, progress, stop)
    except (ValueError, RunError) as failure:
        _tell(failure=str(failure))
        return 1
    return 130 if ended["status"] == "partial: interrupted" else 0


if __name__ == "__main__":
    sys.exit(main())
