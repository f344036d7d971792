"""The NumPy engine: the same tokens and logits as llama.cpp, and honest refusals."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from extractkit.errors import ProviderError, UnsupportedError, UsageError
from extractkit.providers.local import _numpy
from extractkit.providers.local._libllama import LibllamaEngine
from extractkit.providers.local._library import library
from extractkit.providers.local._numpy import NumpyEngine
from extractkit.providers.local._requantise import _parameters

from .tiny import CONTEXT, write_tiny

TEXT = "the inner error of 2024: naïve\n\n don't"
_Q6_K = 18  # llama_ftype


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tiny")


@pytest.fixture(scope="module")
def tiny(folder: Path) -> Path:
    return write_tiny(folder / "tiny.gguf")


@pytest.fixture(scope="module")
def pair(tiny: Path) -> tuple[NumpyEngine, LibllamaEngine]:
    return NumpyEngine(tiny), LibllamaEngine(tiny, exact_cache=True)


def test_both_engines_have_the_same_vocabulary(
    pair: tuple[NumpyEngine, LibllamaEngine],
) -> None:
    ours, theirs = pair
    assert ours.name == "numpy"
    assert ours.vocabulary == theirs.vocabulary
    assert ours.context_tokens == ours.trained_context_tokens == CONTEXT


@settings(max_examples=300, deadline=None)
@given(text=st.text(max_size=60), control=st.booleans())
def test_both_engines_cut_any_text_into_the_same_tokens(
    pair: tuple[NumpyEngine, LibllamaEngine], text: str, control: bool
) -> None:
    ours, theirs = pair
    assert ours.tokenize(text, control=control) == theirs.tokenize(text, control=control)


@settings(max_examples=200, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(
            ["<|im_end|>", "<|im_start|>", "<|", " the", "12", "½", " ", "\n", "'s", "é", "\x00"]
        ),
        max_size=12,
    ),
    control=st.booleans(),
)
def test_both_engines_treat_control_names_alike(
    pair: tuple[NumpyEngine, LibllamaEngine], parts: list[str], control: bool
) -> None:
    ours, theirs = pair
    text = "".join(parts)
    tokens = ours.tokenize(text, control=control)
    assert tokens == theirs.tokenize(text, control=control)
    assert control or not set(tokens) & ours.vocabulary.control_ids


def test_a_lone_surrogate_is_refused_with_its_place(
    pair: tuple[NumpyEngine, LibllamaEngine],
) -> None:
    with pytest.raises(UsageError, match=r"character 1 .* \(U\+DC00\)"):
        pair[0].tokenize("a\udc00")


def test_with_exact_numbers_both_engines_compute_the_same_logits(
    pair: tuple[NumpyEngine, LibllamaEngine],
) -> None:
    ours, theirs = pair
    tokens = ours.tokenize(TEXT)
    for engine in pair:
        engine.keep(0)
    rows, expected = (engine.evaluate(tokens, every=True) for engine in pair)
    assert rows.shape == (len(tokens), len(ours.vocabulary.pieces))
    assert np.abs(expected).max() > 1
    np.testing.assert_allclose(rows, expected, atol=1e-4)
    np.testing.assert_allclose(ours.evaluate([5]), theirs.evaluate([5]), atol=1e-4)


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize(
    ("kind", "usual", "furthest"),
    [
        ("F32", 1e-4, 1e-4),
        ("F16", 0.01, 0.01),
        ("Q8_0", 1e-4, 0.3),
        ("Q4_0", 1e-4, 0.3),
        ("Q4_1", 1e-4, 0.3),
    ],
)
def test_every_format_gives_the_logits_of_the_library(
    tmp_path: Path, kind: str, usual: float, furthest: float, tied: bool
) -> None:
    """Where two sums fall on both sides of a rounding edge, one logit is further off."""
    path = write_tiny(tmp_path / "tiny.gguf", kind, tied=tied)
    ours, theirs = NumpyEngine(path), LibllamaEngine(path, exact_cache=True)
    distances = _distances(ours, theirs)
    assert np.median(distances) < usual
    assert max(distances) < furthest


def _distances(ours: NumpyEngine, theirs: LibllamaEngine) -> list[float]:
    """Return, for each token of a text by itself, by how much the logits differ at most."""
    distances = []
    for token in ours.tokenize(TEXT):
        ours.keep(0)
        theirs.keep(0)
        distances.append(float(np.abs(ours.evaluate([token]) - theirs.evaluate([token])).max()))
    return distances


def test_six_bit_weights_give_the_logits_of_the_library(tiny: Path, tmp_path: Path) -> None:
    import ctypes
    import os

    path = tmp_path / "q6.gguf"
    parameters = _parameters(library(), _Q6_K)
    code = library().model_quantize(os.fsencode(tiny), os.fsencode(path), ctypes.byref(parameters))
    assert code == 0
    ours, theirs = NumpyEngine(path), LibllamaEngine(path, exact_cache=True)
    assert "Q6_K" in {tensor.format for tensor in _numpy.read_gguf(path).tensors.values()}
    distances = _distances(ours, theirs)
    assert np.median(distances) < 1e-3
    assert max(distances) < 0.3


def test_how_tokens_are_split_over_calls_does_not_matter(tiny: Path) -> None:
    tokens = [3 + place % 200 for place in range(700)]  # more than a chunk, more than a cache block
    engine = NumpyEngine(tiny)
    rows = engine.evaluate(tokens, every=True)
    engine.keep(0)
    np.testing.assert_allclose(engine.evaluate(tokens[:1]), rows[0], atol=1e-4)
    np.testing.assert_allclose(engine.evaluate(tokens[1:600]), rows[599], atol=1e-4)
    np.testing.assert_allclose(engine.evaluate(tokens[600:]), rows[699], atol=1e-4)


def test_what_was_forgotten_leaves_no_trace_in_the_bits(tiny: Path) -> None:
    a, b, c = [9, 8, 7] * 40, [20, 30, 40, 50], [11, 12]
    engine, fresh = NumpyEngine(tiny), NumpyEngine(tiny)
    engine.evaluate(a)
    engine.evaluate(b)
    engine.keep(len(a))
    assert engine.past == tuple(a)
    fresh.evaluate(a)
    assert np.array_equal(engine.evaluate(c), fresh.evaluate(c))


def test_the_cache_grows_with_the_sequence_only(tiny: Path) -> None:
    engine = NumpyEngine(tiny)
    assert engine._keys.nbytes == 0
    engine.evaluate([5])
    small = engine._keys.nbytes
    engine.evaluate([5] * 600)
    assert 0 < small < engine._keys.nbytes


def test_blas_is_held_to_the_threads_asked_for_and_gets_back_what_it_had(
    tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    forward = NumpyEngine._forward

    def look(self: NumpyEngine, *arguments: Any) -> Any:
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return forward(self, *arguments)

    monkeypatch.setattr(NumpyEngine, "_forward", look)
    before = threadpool_info()
    NumpyEngine(tiny).evaluate([5, 6])
    assert set(seen) <= {1}
    assert threadpool_info() == before


def test_the_error_for_a_full_context_names_the_token_counts(tiny: Path) -> None:
    engine = NumpyEngine(tiny, context_tokens=10)
    with pytest.raises(UsageError, match=r"11 tokens .* the context has 10"):
        engine.evaluate([5] * 11)
    assert engine.past == ()


def test_a_closed_engine_refuses_use_and_closing_twice_is_fine(tiny: Path) -> None:
    engine = NumpyEngine(tiny)
    engine.close()
    engine.close()
    for use in (lambda: engine.evaluate([5]), lambda: engine.keep(0), lambda: engine.tokenize("a")):
        with pytest.raises(UsageError, match="closed"):
            use()


def test_logits_that_are_not_finite_are_an_error(tmp_path: Path) -> None:
    engine = NumpyEngine(write_tiny(tmp_path / "huge.gguf", scale=1e10))
    with pytest.raises(ProviderError, match="not finite"):
        engine.evaluate([5, 6, 7])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"general.architecture": "qwen2"}, "architecture 'qwen2'.*'llama' only"),
        ({"llama.rope.scaling.type": "yarn"}, "rope scaling 'yarn'"),
        ({"llama.rope.dimension_count": 32}, "32 of 64 dimensions"),
        ({"llama.expert_count": 8}, "8 experts"),
        ({"llama.block_count": None}, "llama.block_count is None"),
        ({"llama.block_count": 3}, "blk.2.*missing or unknown"),
        ({"tokenizer.ggml.model": "llama"}, "tokenizer 'llama' with the splitting rule 'smollm'"),
        ({"tokenizer.ggml.pre": "qwen2"}, "splitting rule 'qwen2'"),
        ({"tokenizer.ggml.merges": None}, "tokenizer.ggml.merges is missing"),
        ({"tokenizer.ggml.eos_token_id": None}, "eos_token_id is missing"),
    ],
)
def test_models_that_it_does_not_compute_are_refused_by_name(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    path = write_tiny(tmp_path / "other.gguf", change=change)
    with pytest.raises(UnsupportedError, match=message):
        NumpyEngine(path)


def test_a_tensor_that_it_does_not_know_is_named(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "other.gguf", extra="blk.0.attn_q_norm")
    with pytest.raises(UnsupportedError, match=r"blk\.0\.attn_q_norm\.weight"):
        NumpyEngine(path)


def test_a_format_that_it_does_not_read_is_named(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "other.gguf", "Q5_0")
    with pytest.raises(UnsupportedError, match=r"token_embd\.weight has the format type 6"):
        NumpyEngine(path)


@pytest.fixture(scope="session")
def embedded(weights_path: Path) -> Any:
    engines = (NumpyEngine(weights_path), LibllamaEngine(weights_path, context_tokens=1024))
    yield engines
    for engine in engines:
        engine.close()


@pytest.mark.weights
def test_the_embedded_models_tokens_agree_on_random_strings(embedded: Any) -> None:
    ours, theirs = embedded
    assert ours.vocabulary == theirs.vocabulary
    chance = random.Random(3)
    for _ in range(300):
        text = "".join(chr(_code(chance)) for _ in range(chance.randrange(1, 60)))
        assert ours.tokenize(text) == theirs.tokenize(text), text


def _code(chance: random.Random) -> int:
    """Return a code point of a random plane that is no surrogate."""
    while True:
        code = chance.randrange(chance.choice((0x80, 0x250, 0x3000, 0x10000, 0x20000)))
        if not 0xD800 <= code < 0xE000:
            return code


@pytest.mark.weights
def test_the_embedded_models_logits_agree(embedded: Any) -> None:
    """Kernels over quantised weights round activations to 8 bits: the mean error is bounded."""
    tokens = embedded[0].tokenize("Invoice 2024-118 from Harbor Tools, total 78.70 EUR.")
    ours, theirs = (engine.evaluate(tokens, every=True) for engine in embedded)
    assert np.sqrt(np.mean((ours - theirs) ** 2)) < 0.3
    assert np.abs(ours - theirs).max() < 2
