"""What every test may rely on: no network beyond this machine, no keys, weights where asked for."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from extractkit.errors import ExtractkitError

_LOOPBACK = ("127.", "::1", "localhost")
_KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "EXTRACTKIT_MODEL")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
_NO_BROWSER = "needs a browser: have Chromium on PATH, or run 'playwright install chromium'"


def pytest_configure(config: pytest.Config) -> None:
    """Make how the tests are started no matter of theirs: by a wide terminal, in the background."""
    for name in ("COLUMNS", "LINES"):
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _only_this_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuse every connection that leaves this machine, and hide keys."""
    connect = socket.socket.connect

    def guarded(self: socket.socket, address: Any) -> None:
        host = address[0] if isinstance(address, tuple) else str(address)
        if self.family != getattr(socket, "AF_UNIX", None) and not host.startswith(_LOOPBACK):
            pytest.fail(f"a test tried to reach {host}")
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    for name in _KEYS:
        monkeypatch.delenv(name, raising=False)
    yield


@pytest.fixture
def no_verdicts() -> Iterator[None]:
    """Nothing is known of any server, before a test and after it."""
    from extractkit.providers import _verdicts

    _verdicts.forget_all()
    yield
    _verdicts.forget_all()


@pytest.fixture(scope="session")
def weights_path() -> Path:
    """The embedded model's weights, as `extractkit pull` left them."""
    from extractkit.providers.local import _weights

    try:
        return _weights.find(None)
    except ExtractkitError as error:
        pytest.skip(f"no weights: {error}")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of third-party data, which only some checkouts have."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("EXTRACTKIT_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no data at {folder}; set EXTRACTKIT_DATA")
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium. Of a module and no longer: while it is open, a loop runs in this thread."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    path = next(filter(None, map(shutil.which, _BROWSERS)), None)
    with sync_api.sync_playwright() as started:
        try:
            # Chromium's own sandbox does not start for root, as in containers.
            sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []
            opened = started.chromium.launch(executable_path=path, args=sandbox)
        except sync_api.Error as error:
            pytest.skip(f"{_NO_BROWSER} ({error.message.splitlines()[0]})")
        yield opened
        opened.close()
