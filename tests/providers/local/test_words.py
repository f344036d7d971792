"""Which texts are tokens of a model: found in the head of its file, and true of its tokenizer."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path

import pytest

from extractkit.engine.coding import LETTERS, PAIRS
from extractkit.errors import ProviderError, UsageError
from extractkit.providers.local import Local
from extractkit.providers.local._bpe import Tokenizer
from extractkit.providers.local._gguf import read_gguf
from extractkit.providers.local._words import words_among
from tests.providers.local.tiny import write_tiny

TEXTS = ("he", "in", "AB", "A", "th")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("words") / "tiny.gguf")


def test_words_of_the_vocabulary_are_found(tiny: Path) -> None:
    assert words_among(str(tiny), TEXTS) == {"he", "in", "A"}
    assert words_among(str(tiny), LETTERS) == {*LETTERS}
    assert words_among(str(tiny), PAIRS) == frozenset()


def test_a_file_that_was_replaced_is_read_again(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "model.gguf")
    assert "AB" not in words_among(str(path), TEXTS)
    write_tiny(path, change={"tokenizer.ggml.tokens": ["AB"]})
    os.utime(path, ns=(1, 1))
    assert words_among(str(path), TEXTS) == {"AB"}


def test_of_a_file_without_a_vocabulary_nothing_is_known_to_be_a_token(tmp_path: Path) -> None:
    path = write_tiny(tmp_path / "odd.gguf", change={"tokenizer.ggml.tokens": None})
    assert words_among(str(path), TEXTS) == frozenset()


def test_a_provider_tells_it_without_loading_the_model(tiny: Path) -> None:
    provider = Local(tiny)
    tell = provider.capabilities.one_token
    assert tell is not None
    assert tell(TEXTS) == {"he", "in", "A"}
    assert provider.capabilities == provider.capabilities
    assert pickle.loads(pickle.dumps(provider.capabilities)) is not None
    provider.close()


def test_a_model_that_is_not_there_is_told_as_for_an_answer(tmp_path: Path) -> None:
    tell = Local(tmp_path / "nowhere.gguf").capabilities.one_token
    assert tell is not None
    with pytest.raises((ProviderError, UsageError), match=r"nowhere\.gguf"):
        tell(TEXTS)


@pytest.mark.weights
def test_every_code_is_one_token_of_the_embedded_model_between_its_quotes(
    weights_path: Path,
) -> None:
    tokenizer = Tokenizer(read_gguf(weights_path))
    pairs = words_among(None, PAIRS)
    assert len(pairs) == 377
    for code in (*LETTERS, *sorted(pairs)):
        text = f'{{"key": "{code}", "list": ["{code}", "{code}"], "compact":"{code}"}}'
        tokens = tokenizer.tokenize(text, control=False)
        pieces = [tokenizer.vocabulary.pieces[token] for token in tokens]
        assert pieces.count(code.encode()) == 4, code


def test_every_letter_is_one_token_of_the_tokenizers_of_openai() -> None:
    tiktoken = pytest.importorskip("tiktoken", reason="tiktoken is not installed")
    for name in ("cl100k_base", "o200k_base"):
        try:
            encoding = tiktoken.get_encoding(name)
        except (OSError, RuntimeError) as error:  # its file is downloaded, and there is no network
            pytest.skip(f"{name} is not there: {error}")
        for code in LETTERS:
            tokens = encoding.encode(f'{{"key": "{code}", "list": ["{code}"]}}')
            pieces = [encoding.decode_single_token_bytes(token) for token in tokens]
            assert pieces.count(code.encode()) == 2
    assert sys.modules["tiktoken"] is tiktoken
