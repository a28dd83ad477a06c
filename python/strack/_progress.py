"""A bar: drawn again in place in a terminal, an HTML one in a notebook, nothing where neither looks."""

import sys
import time


def _notebook():
    shell = sys.modules.get("IPython") and sys.modules["IPython"].get_ipython()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


class Bar:
    WIDTH = 30

    def __init__(self, title, stream=None):
        self.title, self.stream = title, stream or sys.stderr
        self.began = time.monotonic()
        self.drawn = ""
        self.display = None
        if _notebook():
            from IPython.display import HTML, display
            self.html = HTML
            self.display = display(HTML(self._html(0)), display_id=True)

    def _html(self, share):
        return f'<progress value="{share:.4f}" max="1"></progress> {self.title}: {100 * share:.0f} %'

    def show(self, share):
        """How far it is, in parts of one."""
        if self.display is not None:
            self.display.update(self.html(self._html(share)))
            return
        if not self.stream.isatty():
            return
        full = int(self.WIDTH * share)
        text = f"{self.title} [{'#' * full}{'.' * (self.WIDTH - full)}] {100 * share:3.0f} % {time.monotonic() - self.began:.0f} s"
        if text != self.drawn:
            self.stream.write("\r" + text)
            self.stream.flush()
            self.drawn = text

    def close(self):
        if self.drawn:
            self.stream.write("\r" + " " * len(self.drawn) + "\r")
            self.stream.flush()
            self.drawn = ""
