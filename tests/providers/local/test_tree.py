"""Trees of tokens: what they hold, and that engines say of each what they say one by one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractkit.errors import UsageError
from extractkit.providers.local._libllama import LibllamaEngine
from extractkit.providers.local._numpy import NumpyEngine
from extractkit.providers.local._tree import TokenTree

from .tiny import write_tiny

PATHS = st.lists(st.lists(st.integers(3, 6), min_size=1, max_size=5), min_size=1, max_size=8)
PAST = [5, 6, 7, 8, 9, 10, 11, 12]


def tree_of(paths: list[list[int]]) -> TokenTree:
    tree = TokenTree()
    for path in paths:
        tree.add(path)
    return tree


@given(PATHS)
def test_each_beginning_is_in_a_tree_once(paths: list[list[int]]) -> None:
    tree = TokenTree()
    places = [tree.add(path) for path in paths]
    beginnings = {tuple(path[:size]) for path in paths for size in range(1, len(path) + 1)}
    assert len(tree) == len(tree.tokens) == len(beginnings)
    assert [tree.add(path) for path in paths] == places
    for path, found in zip(paths, places, strict=True):
        assert [tree.tokens[place] for place in found] == path
        assert tree.path(found[-1]) == found
    ends = {path for path in beginnings if not any(path == more[:-1] for more in beginnings)}
    assert len(tree.leaves) == len(ends)


@given(PATHS)
def test_a_token_sees_itself_and_what_it_follows(paths: list[list[int]]) -> None:
    tree = tree_of(paths)
    for place, (seen, depth) in enumerate(zip(tree.sees(), tree.depths(), strict=True)):
        assert np.flatnonzero(seen).tolist() == tree.path(place)
        assert depth == len(tree.path(place)) - 1


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    # With quantised weights the library's kernels for one token and for many differ by far.
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "F32")


class TestLookAhead:
    """What a real engine says of a tree."""

    @pytest.fixture(params=[LibllamaEngine, NumpyEngine], ids=["libllama", "numpy"])
    def engine(self, request: Any, tiny: Path) -> Any:
        engine = request.param(tiny)
        yield engine
        engine.close()

    @pytest.mark.parametrize(
        "paths",
        [
            [[20]],
            [[20, 21, 22]],
            [[20], [21], [22]],
            [[20, 21], [20, 22], [20], [23, 24, 25, 26], [23, 24, 27]],
            [[first, second] for first in range(20, 24) for second in range(30, 34)],
        ],
    )
    def test_it_is_what_it_says_of_each_path_by_itself(
        self, engine: Any, paths: list[list[int]]
    ) -> None:
        engine.keep(0)
        engine.evaluate(PAST)
        rows = engine.look_ahead(tree_of(paths))
        assert engine.past == tuple(PAST)
        tree = TokenTree()
        for path in paths:
            places = tree.add(path)
            alone = engine.evaluate(path, every=True)
            engine.keep(len(PAST))
            assert np.abs(rows[places] - alone).max() < 2e-2 * max(1.0, np.abs(alone).max())
            assert (rows[places].argmax(-1) == alone.argmax(-1)).all()

    def test_what_comes_after_is_as_if_nobody_had_looked(self, engine: Any) -> None:
        engine.keep(0)
        engine.evaluate(PAST)
        straight = engine.evaluate([30, 31])
        engine.keep(len(PAST))
        engine.look_ahead(tree_of([[20, 21], [22, 23], [30, 31]]))
        assert np.array_equal(engine.evaluate([30, 31]), straight)

    def test_branches_that_were_kept_are_forgotten(self, engine: Any) -> None:
        engine.keep(0)
        engine.evaluate(PAST)
        engine.save(0, 2)
        engine.look_ahead(tree_of([[20], [21]]))
        with pytest.raises(UsageError, match="no such branch"):
            engine.restore(0, 2)

    def test_too_many_leaves_and_too_many_tokens_are_refused(self, engine: Any) -> None:
        engine.keep(0)
        engine.evaluate(PAST)
        wide = tree_of([[20 + leaf] for leaf in range(engine.branches + 1)])
        with pytest.raises(UsageError, match=f"{engine.branches + 1} leaves; expected"):
            engine.look_ahead(wide)
        long = tree_of([[20 + step % 50 for step in range(engine.context_tokens)]])
        with pytest.raises(UsageError, match="the context has"):
            engine.look_ahead(long)
        with pytest.raises(UsageError, match="no tokens"):
            engine.look_ahead(TokenTree())
        assert engine.past == tuple(PAST)

    def test_a_tree_longer_than_a_part_is_looked_at_in_parts(self, engine: Any) -> None:
        engine.keep(0)
        engine.evaluate(PAST)
        room = (engine.context_tokens - len(PAST)) // 2
        paths = [[20 + (leaf + step) % 50 for step in range(room)] for leaf in range(2)]
        rows = engine.look_ahead(tree_of(paths))
        alone = engine.evaluate(paths[1])
        assert np.abs(rows[-1] - alone).max() < 2e-2 * max(1.0, np.abs(alone).max())
