"""The SDKs: what they are called, how they are loaded, and which clients are theirs.

Neighbours: `_clients` makes clients of them, `_hosted` takes those of the caller. An SDK is
imported only when a client of it is made.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import re
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from extractkit.errors import MissingDependencyError, UsageError

__all__ = [
    "ANTHROPIC_SDK",
    "OPENAI_SDK",
    "Sdk",
    "check_client",
    "errors_of",
    "has_profile",
    "is_async",
    "load",
    "loading",
    "trust",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sdk:
    """An SDK and what its clients read from the environment.

    Attributes:
        package: Module and distribution.
        least: The oldest version that serves.
        sync: Its synchronous client.
        other: Its asynchronous one.
        key_variables: Where it finds a key, first one first.
        base_variable: Where it finds the base URL.
        base_url: The base URL where nothing says otherwise.
        official: Expression over the hosts of the provider itself and of those who host for it.
    """

    package: str
    least: tuple[int, int]
    sync: str
    other: str
    key_variables: tuple[str, ...]
    base_variable: str
    base_url: str
    official: str


OPENAI_SDK: Final = Sdk(
    package="openai",
    least=(3, 57),
    sync="OpenAI",
    other="AsyncOpenAI",
    key_variables=("OPENAI_API_KEY",),
    base_variable="OPENAI_BASE_URL",
    base_url="https://api.openai.com/v1",
    official=r"(.*\.)?openai\.com|.*\.azure\.com|.*\.azure\.us|.*\.azure-api\.net",
)
ANTHROPIC_SDK: Final = Sdk(
    package="anthropic",
    least=(2, 14),
    sync="Anthropic",
    other="AsyncAnthropic",
    key_variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    base_variable="ANTHROPIC_BASE_URL",
    base_url="https://api.anthropic.com",
    official=r"(.*\.)?anthropic\.com|.*\.amazonaws\.com|.*\.googleapis\.com|.*\.azure\.com",
)


def load(sdk: Sdk) -> Any:
    """Return the module of `sdk`.

    Raises:
        MissingDependencyError: If it is not installed, or too old.
    """
    wanted = f"{sdk.package}>={sdk.least[0]}.{sdk.least[1]}"
    try:
        module = importlib.import_module(sdk.package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != sdk.package:
            raise
        raise MissingDependencyError(
            f"the package {sdk.package!r} is not installed; pip install '{wanted}'",
            feature=f"models of {sdk.package}",
            package=sdk.package,
        ) from error
    version = str(getattr(module, "__version__", "0"))
    numbers = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if numbers < sdk.least:
        raise MissingDependencyError(
            f"{sdk.package} {version} is installed, which is too old; pip install -U '{wanted}'",
            feature=f"models of {sdk.package}",
            package=sdk.package,
        )
    return module


def check_client(owner: str, client: Any, sdk: Sdk) -> None:
    """Return if `client` is a client of `sdk`.

    Raises:
        UsageError: If it is anything else.
        MissingDependencyError: If the SDK that made it is too old.
    """
    kinds = {(cls.__module__.partition(".")[0], cls.__name__) for cls in type(client).__mro__}
    if {(sdk.package, "SyncAPIClient"), (sdk.package, "AsyncAPIClient")} & kinds:
        load(sdk)
        return
    found = f"the class {client.__name__}" if isinstance(client, type) else type(client).__name__
    module = next((name for name, kind in kinds if kind.endswith("APIClient")), "")
    raise UsageError(
        f"{owner}(client=...): this is {f'{module}.' if module else ''}{found}; expected a client "
        f"of the SDK {sdk.package!r}, such as {sdk.package}.{sdk.sync}() or {sdk.other}()"
    )


def is_async(client: Any) -> bool:
    """Whether a client that `check_client` took is an asynchronous one."""
    return any(cls.__name__ == "AsyncAPIClient" for cls in type(client).__mro__)


@functools.cache
def trust() -> Any:
    """Return what decides whom to trust; to read it takes a thousand times a client's making."""
    import httpx2

    return httpx2.create_ssl_context()


_loads: dict[str, threading.Thread] = {}
_loads_lock = threading.Lock()


def loading(sdk: Sdk) -> threading.Thread | None:
    """Return the thread that loads `sdk`, which may have ended; None where it is loaded.

    It takes seconds at times, and an import cannot be left: a call whose time ends before leaves
    the thread to it, and the next call finds the SDK loaded.
    """
    with _loads_lock:
        thread = _loads.get(sdk.package)
        if thread is None and sdk.package in sys.modules:
            return None
        if thread is None or not thread.is_alive():
            if sdk.package in sys.modules:
                return None
            thread = threading.Thread(target=_load_whole, args=(sdk,), daemon=True)
            _loads[sdk.package] = thread
            thread.start()
        return thread


def _load_whole(sdk: Sdk) -> None:
    # What is missing is said by the call that needs it.
    with contextlib.suppress(ImportError):
        load(sdk)
        trust()


def _forget_loads() -> None:
    """A forked child has no thread of its parent's, and the lock may be held for ever."""
    global _loads_lock
    _loads_lock = threading.Lock()
    _loads.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_loads)


def errors_of(sdk: Sdk) -> type[Exception]:
    """Return the root of what an SDK raises."""
    root: type[Exception] = getattr(load(sdk), f"{sdk.sync}Error")
    return root


def has_profile() -> bool:
    """Whether Anthropic's SDK may find credentials that are no key; it alone can read them."""
    names = ("ANTHROPIC_PROFILE", "ANTHROPIC_IDENTITY_TOKEN", "ANTHROPIC_IDENTITY_TOKEN_FILE")
    if any(os.environ.get(name) for name in names):
        return True
    folder = os.environ.get("ANTHROPIC_CONFIG_DIR")
    return (Path(folder) if folder else Path.home() / ".config" / "anthropic").is_dir()
