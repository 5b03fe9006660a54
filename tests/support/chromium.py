"""A headless Chromium that a test drives through its DevTools, over a pipe: no driver and no package are needed."""

import json
import os
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
# nothing is fetched: no updates, no first-run pages, no lists of bad sites
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--remote-debugging-pipe",
)  # fmt: skip

# the browser reads its commands from descriptor 3 and answers on 4
BEGIN = """
import fcntl, os, sys
commands, answers = (fcntl.fcntl(int(number), fcntl.F_DUPFD, 10) for number in sys.argv[1:3])
os.dup2(commands, 3), os.dup2(answers, 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Page:
    """One page of the browser; ``complaints`` are the errors and warnings of its console so far."""

    def __init__(self, to_browser: int, from_browser: int) -> None:
        self.to_browser = to_browser
        self.from_browser = from_browser
        self.n = 0
        self.read = b""
        self.session = None
        self.complaints: list[str] = []
        self.requested: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command of the DevTools protocol."""
        self.n += 1
        message = {"id": self.n, "method": method, "params": params}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self.n:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self.read:
            more = os.read(self.from_browser, 1 << 20)
            assert more, "the browser has ended"
            self.read += more
        text, _, self.read = self.read.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, event: str | None, params: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(params["exceptionDetails"]))
        elif event == "Log.entryAdded":
            self.complaints.append(params["entry"]["text"])
        elif event == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(json.dumps(params["args"]))
        elif event == "Network.requestWillBeSent":
            self.requested.append(params["request"]["url"])

    def show(self, width: int = 1400, height: int = 900, *, dark: bool = False, touch: bool = False) -> None:
        """Sets the size of the window, the user's preference for dark pages, and whether it is touched."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": touch}
        self.call("Emulation.setDeviceMetricsOverride", **size)
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def open(self, path: Path | str, state: str = "") -> None:
        """Loads a file, or an address, with ``state`` behind the # of its address."""
        address = path if isinstance(path, str) else path.as_uri()
        self.call("Page.navigate", url="about:blank")  # the same file with another state would not be loaded again
        self.call("Page.navigate", url=f"{address}#{state}")
        ready = "new Promise(done => document.readyState === 'complete' ? done() : addEventListener('load', done))"
        self.value(ready)

    def value(self, expression: str) -> Any:
        """The value of an expression in JavaScript, waited for if it is a promise."""
        request = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        result = self.call("Runtime.evaluate", **request)
        assert "exceptionDetails" not in result, result["exceptionDetails"]
        return result["result"].get("value")

    def middle(self, selector: str) -> tuple[float, float]:
        """The middle of the first element for a CSS selector, after it was scrolled into sight."""
        self.value(f"(found = document.querySelector({json.dumps(selector)})).scrollIntoView({{block: 'center'}})")
        place = self.value("(r => [r.x + r.width / 2, r.y + r.height / 2])(found.getBoundingClientRect())")
        return float(place[0]), float(place[1])

    def move_to(self, selector: str) -> None:
        """Moves the mouse onto an element."""
        x, y = self.middle(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Clicks an element with the mouse."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, selector: str) -> None:
        """Taps an element with a finger."""
        x, y = self.middle(selector)
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def press(self, key: str) -> None:
        """Presses a key, by its name in JavaScript."""
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key)

    def screenshot(self, path: Path) -> None:
        """Writes what the window shows as a PNG."""
        path.write_bytes(b64decode(self.call("Page.captureScreenshot", format="png")["data"]))


@contextmanager
def chromium(folder: Path) -> Iterator[Page]:
    """A page of a browser with a new profile in ``folder``; the browser is ended after the block."""
    assert BROWSER is not None
    read_by_it, to_browser = os.pipe()
    from_browser, written_by_it = os.pipe()

    started = subprocess.Popen(
        [
            sys.executable,
            "-c",
            BEGIN,
            str(read_by_it),
            str(written_by_it),
            BROWSER,
            *OPTIONS,
            f"--user-data-dir={folder}",
        ],
        pass_fds=(read_by_it, written_by_it),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_by_it)
    os.close(written_by_it)
    try:
        yield Page(to_browser, from_browser)
    finally:
        os.close(to_browser)
        os.close(from_browser)
        started.terminate()
        started.wait(20)
