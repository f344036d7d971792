"""Opening models: one load for all users, an honest choice of engine, a test before use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from extractkit.errors import (
    MissingDependencyError,
    NotFoundError,
    ProviderError,
    UnsupportedError,
    UsageError,
)
from extractkit.providers.local import _libllama, _load, _numpy, _weights
from extractkit.providers.local._load import Opened, open_engine

from .engines import ByteEngine
from .tiny import CONTEXT, write_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "small-model.gguf", "Q8_0")


@pytest.fixture(autouse=True)
def _nothing_stays_loaded() -> Iterator[None]:
    before = dict(_load._loaded)
    yield
    assert _load._loaded == before


def refuse(error: Exception) -> Any:
    def make(*_: object, **__: object) -> None:
        raise error

    return make


def test_the_default_is_the_library_and_says_so(tiny: Path) -> None:
    opened = open_engine(tiny)
    assert opened.engine.name == "libllama"
    assert opened.reason == "libllama: the default, and it passed its self-test"
    assert (opened.name, opened.path) == ("small-model", tiny)
    assert opened.engine.context_tokens == CONTEXT
    assert opened.engine.past == ()
    assert opened.facts["weights"] == "small-model.gguf"
    assert opened.facts["weights_sha256"] == _weights.digest(tiny)
    assert json.loads(json.dumps(dict(opened.facts)))["engine_reason"] == opened.reason
    opened.close()


@pytest.mark.parametrize("name", ["libllama", "numpy"])
def test_an_engine_that_is_asked_for_runs(tiny: Path, name: Literal["libllama", "numpy"]) -> None:
    opened = open_engine(tiny, engine=name, context_tokens=64)
    assert opened.engine.name == name
    assert opened.engine.context_tokens == 64
    assert opened.reason == f"{name}: asked for by name"
    opened.close()


def test_equal_settings_share_one_engine_until_the_last_user_closes(tiny: Path) -> None:
    first, second, other = open_engine(tiny), open_engine(str(tiny)), open_engine(tiny, threads=2)
    assert first.engine is second.engine
    assert first.engine is not other.engine
    first.close()
    first.close()
    assert second.engine.evaluate([5]).shape
    second.close()
    with pytest.raises(UsageError, match="closed"):
        second.engine.evaluate([5])
    again = open_engine(tiny)
    assert again.engine is not second.engine
    for opened in (again, other):
        opened.close()


def test_threads_that_open_at_once_wait_for_one_load(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[object] = []
    make = _libllama.LibllamaEngine
    gate = threading.Barrier(8)

    def counted(*arguments: Any, **named: Any) -> Any:
        made.append(None)
        return make(*arguments, **named)

    def open_one(_: int) -> Opened:
        gate.wait()
        return open_engine(tiny)

    monkeypatch.setattr(_libllama, "LibllamaEngine", counted)
    with ThreadPoolExecutor(8) as pool:
        users = list(pool.map(open_one, range(8)))
    assert len(made) == 1
    assert len({id(user.engine) for user in users}) == 1
    for user in users:
        user.close()


@pytest.mark.parametrize(
    "error",
    [
        UnsupportedError("no avx2 here"),
        ProviderError("the library is broken"),
        MissingDependencyError("the wheel is missing"),
    ],
)
def test_where_the_library_fails_numpy_serves_and_the_reason_is_said(
    tiny: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(_libllama, "LibllamaEngine", refuse(error))
    opened = open_engine(tiny)
    assert opened.engine.name == "numpy"
    assert opened.reason == f"numpy: libllama cannot serve here: {error}"
    opened.close()


def test_an_engine_that_is_asked_for_is_never_replaced(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_libllama, "LibllamaEngine", refuse(UnsupportedError("no avx2 here")))
    with pytest.raises(UnsupportedError, match="no avx2 here"):
        open_engine(tiny, engine="libllama")


def test_where_both_fail_the_error_tells_of_the_first_too(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_libllama, "LibllamaEngine", refuse(ProviderError("broken")))
    monkeypatch.setattr(_numpy, "NumpyEngine", refuse(UnsupportedError("another architecture")))
    with pytest.raises(UnsupportedError, match="another architecture") as caught:
        open_engine(tiny)
    assert caught.value.__notes__ == ["The engine 'libllama' was tried first: broken"]


def test_a_caller_s_mistake_is_no_reason_for_another_engine(tiny: Path) -> None:
    with pytest.raises(UsageError, match=f"context_tokens={CONTEXT + 1}: expected 1 to {CONTEXT}"):
        open_engine(tiny, context_tokens=CONTEXT + 1)


@pytest.mark.parametrize(("name", "module"), [("libllama", "_libllama"), ("numpy", "_numpy")])
def test_a_missing_package_names_the_extra(
    tiny: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: Literal["libllama", "numpy"],
    module: str,
) -> None:
    monkeypatch.setitem(sys.modules, f"extractkit.providers.local.{module}", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "\.\[local\]"'):
        open_engine(tiny, engine=name)


def test_a_damaged_or_missing_file_is_refused_before_any_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_load, "_engine_class", lambda _: pytest.fail("an engine was made"))
    with pytest.raises(NotFoundError):
        open_engine(tmp_path / "absent.gguf")
    path = write_tiny(tmp_path / "cut.gguf")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match="cut short"):
        open_engine(path)


def test_a_failed_load_can_be_tried_again(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(_load, "self_test", refuse(ProviderError("not this time")))
        with pytest.raises(ProviderError, match="not this time"):
            open_engine(tiny, engine="libllama")
    opened = open_engine(tiny, engine="libllama")
    opened.close()


class Wrong(ByteEngine):
    """An engine that does not compute what it should."""

    def __init__(self, fault: str) -> None:
        super().__init__("x")
        self.fault = fault

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        tokens = super().tokenize(text, control=control)
        return tokens[:-1] if self.fault == "tokenizer" else tokens

    def evaluate(self, tokens: Sequence[int], *, every: bool = False) -> Any:
        logits = super().evaluate(tokens, every=every)
        return logits * np.float32("nan") if self.fault == "logits" else logits


@pytest.mark.parametrize(
    ("fault", "embedded", "message"),
    [
        ("tokenizer", False, "on its way to tokens and back"),
        ("logits", False, "not finite"),
        ("none", True, "the tokens of '1, 2, 3, 4,' are"),
    ],
)
def test_the_self_test_says_what_is_wrong(fault: str, embedded: bool, message: str) -> None:
    with pytest.raises(ProviderError, match=f"engine 'bytes' failed its self-test: .*{message}"):
        _load.self_test(Wrong(fault), embedded=embedded)


def test_the_self_test_knows_how_the_embedded_model_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = Wrong("none")
    monkeypatch.setattr(_load, "_COUNT_TOKENS", engine.tokenize("1, 2, 3, 4,"))
    with pytest.raises(ProviderError, match=r"after '1, 2, 3, 4,' come the tokens \["):
        _load.self_test(engine, embedded=True)


@pytest.mark.parametrize("context", [1, 2, 5, 40])
def test_the_self_test_fits_any_context_and_leaves_nothing(tiny: Path, context: int) -> None:
    opened = open_engine(tiny, context_tokens=context)
    assert opened.engine.past == ()
    opened.close()


def test_a_forked_child_loads_anew_and_leaves_its_parents_model_alone(tiny: Path) -> None:
    program = """
import os, sys
from extractkit.providers.local import _load
parent = _load.open_engine(sys.argv[1])
before = parent.engine.evaluate([5, 6])
child = os.fork()
if not child:
    mine = _load.open_engine(sys.argv[1])
    parent.close()
    parent.engine.close()
    good = mine.engine is not parent.engine and (mine.engine.evaluate([5, 6]) == before).all()
    mine.close()
    os._exit(0 if good else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
parent.engine.keep(0)
assert (parent.engine.evaluate([5, 6]) == before).all()
parent.close()
"""
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program, str(tiny)],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.mark.weights
@pytest.mark.parametrize("name", ["libllama", "numpy"])
def test_the_embedded_model_passes_its_self_test(
    weights_path: Path, name: Literal["libllama", "numpy"]
) -> None:
    opened = open_engine(engine=name, context_tokens=256)
    assert opened.path == weights_path.resolve()
    assert opened.name == "SmolLM2-135M-Instruct"
    opened.close()
