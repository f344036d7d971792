"""The reference engine: the Llama forward pass in plain NumPy, short enough to be checked by eye.

Neighbours: `_load` opens it where llama.cpp's library cannot serve; `_bpe` is its tokenizer,
`_gguf` finds the tensors, `_sequence` keeps the tokens. What meets a quantised matrix is rounded to
8 bits in blocks, as llama.cpp does; all else is in 32-bit floats, as llama.cpp does with an exact
cache. The order of sums differs, and where that moves a number over an edge of the rounding, it
becomes another 8-bit number. Only models of the architecture "llama" with plain attention and one
feed-forward network per layer are computed; others are refused, never approximated.
"""

from __future__ import annotations

import mmap
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from gguf import GGMLQuantizationType
from gguf.quants import dequantize
from threadpoolctl import ThreadpoolController  # type: ignore[import-untyped]  # has no stubs

from extractkit.errors import ProviderError, UnsupportedError
from extractkit.providers.local._bpe import Tokenizer
from extractkit.providers.local._engine import Logits, OpenLanes, Vocabulary
from extractkit.providers.local._gguf import BLOCKS, Gguf, Tensor, read_gguf
from extractkit.providers.local._limits import WIDEST_BEAM
from extractkit.providers.local._sequence import Sequence as Evaluated
from extractkit.providers.local._tree import TokenTree

__all__ = ["NumpyEngine"]

Floats: TypeAlias = npt.NDArray[np.float32]

_CHUNK = 256  # tokens computed at once: bounds the size of the attention scores
_CACHE_BLOCK = 512  # tokens by which the cache of keys and values grows
_LAYER = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output")
_LAYER_FEED = ("ffn_norm", "ffn_gate", "ffn_up", "ffn_down")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """The numbers that describe a model."""

    layers: int
    width: int
    heads: int
    key_heads: int
    head_width: int
    epsilon: float
    rope_base: float
    context: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Matrix:
    """Weights as numbers, shape (out, in), and the format that they are stored in.

    Attributes:
        lows: What a block's numbers are counted from, where the format has that (Q4_1), else
            empty; shape (out, blocks).
    """

    weights: Floats
    format: str
    lows: Floats

    def times(self, values: Floats) -> Floats:
        """Return `values` times the matrix, the values rounded as llama.cpp does before."""
        rounded, lost = _rounded(values, self.format)
        product: Floats = rounded @ self.weights.T
        if self.lows.size:
            product += lost @ self.lows.T
        return product


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """The weights of one layer."""

    attention_norm: Floats
    query: _Matrix
    key: _Matrix
    value: _Matrix
    attention_out: _Matrix
    feed_norm: Floats
    gate: _Matrix
    up: _Matrix
    down: _Matrix


class NumpyEngine:
    """Computes logits with NumPy; see the protocol `Engine`.

    While it computes, the whole process's BLAS is held to `threads`; afterwards it has what it
    had. Memory is four bytes for each weight, and the cache of keys and values grows with the
    sequence.

    Args:
        path: A GGUF file with tensors in F32, F16, Q8_0, Q4_0, Q4_1 or Q6_K.
        context_tokens: Most tokens of a sequence; None for what the model was trained for.
        threads: Threads of BLAS.

    Raises:
        UnsupportedError: If the model has parts that are not computed here, or another tokenizer.
        UsageError: If the file is no whole GGUF file, or `context_tokens` is out of range.
        OSError: If the file cannot be read.
    """

    name = "numpy"
    branches = WIDEST_BEAM

    def __init__(self, path: Path, *, context_tokens: int | None = None, threads: int = 1) -> None:
        self.open_lanes: OpenLanes = _no_lanes
        head = read_gguf(path)
        self._shape = shape = _shape(head)
        self._words = Tokenizer(head)
        self._sequence = Evaluated(
            context_tokens,
            trained=shape.context,
            vocabulary_size=len(self._words.vocabulary.pieces),
        )
        _require_known_tensors(head, shape.layers)
        weights = dict(_weights(head))
        self._embedding = weights["token_embd.weight"]
        self._output = weights.get("output.weight", self._embedding)
        self._output_norm = weights["output_norm.weight"].weights
        self._layers = [_layer(weights, index) for index in range(shape.layers)]
        half = np.arange(0, shape.head_width, 2) / shape.head_width
        self._frequencies = shape.rope_base**-half
        empty = (shape.layers, shape.key_heads, 0, shape.head_width)
        self._keys: Floats = np.zeros(empty, np.float32)
        self._values: Floats = np.zeros(empty, np.float32)
        self._saved: dict[int, tuple[Floats, Floats]] = {}
        self._threads = threads
        pools: Any = ThreadpoolController()
        self._blas: Any = pools.select(user_api="blas")

    @property
    def vocabulary(self) -> Vocabulary:
        """The model's tokens."""
        return self._words.vocabulary

    @property
    def context_tokens(self) -> int:
        """Most tokens that the sequence can hold."""
        return self._sequence.context_tokens

    @property
    def trained_context_tokens(self) -> int:
        """Context length that the model was trained for."""
        return self._sequence.trained

    @property
    def past(self) -> Sequence[int]:
        """The tokens evaluated so far."""
        return self._sequence.past

    def tokenize(self, text: str, *, control: bool = False) -> list[int]:
        """Return the token ids of `text`; see the protocol.

        Raises:
            UsageError: If `text` holds a lone surrogate, or the engine is closed.
        """
        self._sequence.require_open()
        return self._words.tokenize(text, control=control)

    def evaluate(self, tokens: Sequence[int], *, every: bool = False) -> Logits:
        """Append `tokens` and return their logits in an array of their own; see the protocol.

        Raises:
            UsageError: If the sequence would exceed the context, or the engine is closed.
            ProviderError: If the logits are not finite.
        """
        ids = self._sequence.admit(tokens)
        start = len(self._sequence)
        self._reserve(start + len(ids))
        with self._computing():
            hidden = np.concatenate(
                [
                    self._forward(ids[first : first + _CHUNK], start + first)
                    for first in range(0, len(ids), _CHUNK)
                ]
            )
            logits = self._logits(hidden if every else hidden[-1:])
        self._sequence.append(ids)
        return logits if every else logits[0]

    def look_ahead(self, tree: TokenTree) -> Logits:
        """Return the logits after each token of `tree`; see the protocol.

        Raises:
            UsageError: If it does not fit, or the engine is closed.
            ProviderError: If the logits are not finite.
        """
        ids = self._sequence.admit_tree(tree, self.branches)
        start = len(self._sequence)
        for branch in range(self.branches):
            self.release(branch)
        self._reserve(start + len(ids))
        hidden_past = np.zeros((len(ids), start), dtype=np.bool_)
        with self._computing():
            positions = start + np.asarray(tree.depths())
            return self._logits(
                self._pass(ids, positions, np.concatenate([hidden_past, ~tree.sees()], axis=1))
            )

    def keep(self, count: int) -> None:
        """Forget all but the first `count` tokens of `past`.

        Raises:
            UsageError: If there are fewer, or the engine is closed.
        """
        self._sequence.check_keep(count)
        self._sequence.truncate(count)

    def save(self, branch: int, start: int) -> None:
        """Keep what stands behind the first `start` tokens as `branch`; see the protocol.

        Raises:
            UsageError: If there are fewer, or the engine is closed.
        """
        self._sequence.save(branch, start)
        part = slice(start, len(self._sequence))
        self._saved[branch] = (self._keys[:, :, part].copy(), self._values[:, :, part].copy())

    def restore(self, branch: int, start: int) -> None:
        """Put the tokens of `branch` behind the first `start`; see the protocol.

        Raises:
            UsageError: If it was not kept from there, or the engine is closed.
        """
        self._sequence.check_restore(branch, start)
        self._sequence.truncate(start)
        self._sequence.restore(branch)
        part = slice(start, len(self._sequence))
        self._keys[:, :, part], self._values[:, :, part] = self._saved[branch]

    def release(self, branch: int) -> None:
        """Forget `branch`; one that is none is fine.

        Raises:
            UsageError: If the engine is closed.
        """
        self._sequence.release(branch)
        self._saved.pop(branch, None)

    def close(self) -> None:
        """Release memory; closing twice is fine."""
        self._sequence.close()
        self._saved.clear()
        self._layers = []
        self._keys = self._values = empty = np.zeros((0, 0), np.float32)
        self._embedding = self._output = _Matrix(weights=empty, format="F32", lows=empty)

    def _reserve(self, count: int) -> None:
        """Make room for the keys and values of `count` tokens."""
        missing = count - self._keys.shape[2]
        if missing > 0:
            blocks = -(-missing // _CACHE_BLOCK)
            more = ((0, 0), (0, 0), (0, blocks * _CACHE_BLOCK), (0, 0))
            self._keys, self._values = np.pad(self._keys, more), np.pad(self._values, more)

    @contextmanager
    def _computing(self) -> Generator[None]:
        # Overflow is looked for in the result; in the gates it is right (they close).
        quiet = np.errstate(over="ignore", invalid="ignore")
        with self._blas.limit(limits=self._threads), quiet:
            yield

    def _logits(self, hidden: Floats) -> Logits:
        logits: Logits = self._output.times(self._norm(hidden, self._output_norm))
        if not np.isfinite(logits).all():
            raise ProviderError(
                "the NumPy engine computed logits that are not finite; the weights are damaged",
                provider="local",
            )
        return logits

    def _forward(self, ids: npt.NDArray[np.int32], start: int) -> Floats:
        """Return what the last layer says about each of `ids`, which follow one another.

        Shape (n_tokens, width).
        """
        positions = np.arange(start, start + len(ids))
        return self._pass(ids, positions, np.arange(start + len(ids)) > positions[:, None])

    def _pass(
        self,
        ids: npt.NDArray[np.int32],
        positions: npt.NDArray[np.int_],
        unseen: npt.NDArray[np.bool_],
    ) -> Floats:
        """Return what the last layer says about each of `ids`.

        Args:
            ids: The tokens.
            positions: Where each stands in its text.
            unseen: What each does not look at, of all before it and these; shape (n_tokens, all).
        """
        angles = positions[:, None, None] * self._frequencies
        turn = (np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32))
        hidden: Floats = self._embedding.weights[ids]
        for index, layer in enumerate(self._layers):
            normed = self._norm(hidden, layer.attention_norm)
            hidden = hidden + self._attend(index, layer, normed, turn, unseen)
            hidden = hidden + _feed_forward(layer, self._norm(hidden, layer.feed_norm))
        return hidden

    def _norm(self, values: Floats, weight: Floats) -> Floats:
        mean_square = np.mean(values * values, axis=-1, keepdims=True)
        result: Floats = values / np.sqrt(mean_square + np.float32(self._shape.epsilon)) * weight
        return result

    def _attend(
        self,
        index: int,
        layer: _Layer,
        normed: Floats,
        turn: tuple[Floats, Floats],
        unseen: npt.NDArray[np.bool_],
    ) -> Floats:
        """Return what each token takes from itself and the tokens before it."""
        shape = self._shape
        count, whole = unseen.shape

        def heads(matrix: _Matrix) -> Floats:
            return matrix.times(normed).reshape(count, -1, shape.head_width)

        new = slice(whole - count, whole)
        self._keys[index, :, new] = _rotate(heads(layer.key), turn).swapaxes(0, 1)
        self._values[index, :, new] = heads(layer.value).swapaxes(0, 1)
        # Several query heads share one key head: (key_heads, sharing, count, head_width).
        query = _rotate(heads(layer.query), turn) * np.float32(shape.head_width**-0.5)
        grouped = query.reshape(count, shape.key_heads, -1, shape.head_width).transpose(1, 2, 0, 3)
        keys = self._keys[index, :, None, :whole]
        scores: Floats = np.matmul(grouped, keys.swapaxes(-1, -2))
        scores[..., unseen] = -np.inf
        attended: Floats = np.matmul(_softmax(scores), self._values[index, :, None, :whole])
        return layer.attention_out.times(attended.transpose(2, 0, 1, 3).reshape(count, -1))


def _rounded(values: Floats, format_: str) -> tuple[Floats, Floats]:
    """Return `values` as they are when they meet a matrix of this format.

    Also return, for each block, by how much its sum is off in 16 bits; Q4_1 uses that sum.
    """
    if format_ == "F32":
        return values, values[:, :0]
    if format_ == "F16":
        return _half(values), values[:, :0]
    blocks = values.reshape(len(values), -1, 256 if format_ == "Q6_K" else 32)
    largest = np.abs(blocks).max(axis=-1, keepdims=True)
    with np.errstate(divide="ignore"):
        inverse = np.where(largest == 0, 0, np.float32(127) / largest)
    counts = np.rint(blocks * inverse)
    step = largest / np.float32(127)
    used = step if format_ == "Q6_K" else _half(step)
    sums = counts.sum(axis=-1)
    lost = _half(step[..., 0] * sums) - used[..., 0] * sums
    return (counts * used).reshape(values.shape), lost


def _half(values: Floats) -> Floats:
    """Return `values` rounded to 16 bits."""
    return values.astype(np.float16).astype(np.float32)


def _rotate(heads: Floats, turn: tuple[Floats, Floats]) -> Floats:
    """Return `heads` with each pair of neighbouring numbers turned by its position's angle."""
    cosine, sine = turn
    even, odd = heads[..., 0::2], heads[..., 1::2]
    turned = np.empty_like(heads)
    turned[..., 0::2] = even * cosine - odd * sine
    turned[..., 1::2] = even * sine + odd * cosine
    return turned


def _softmax(scores: Floats) -> Floats:
    scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Floats = scores / scores.sum(axis=-1, keepdims=True)
    return result


def _feed_forward(layer: _Layer, normed: Floats) -> Floats:
    gate = layer.gate.times(normed)
    opened: Floats = np.divide(gate, 1 + np.exp(-gate))
    return layer.down.times(opened * layer.up.times(normed))


def _no_lanes(count: int, tokens: int) -> None:
    """Return None: this engine evaluates one sequence only."""


def _shape(head: Gguf) -> _Shape:
    """Return the model's numbers, after checking that this file computes such models."""
    architecture = head.metadata.get("general.architecture")
    if architecture != "llama":
        raise UnsupportedError(
            f"{head.path} has the architecture {architecture!r}, and the NumPy engine computes "
            "'llama' only; use engine='libllama'"
        )

    def number(key: str, default: float | None = None) -> Any:
        value = head.metadata.get(f"llama.{key}", default)
        if not isinstance(value, int | float):
            raise UnsupportedError(
                f"{head.path}: llama.{key} is {value!r} where a number was expected; the NumPy "
                "engine cannot compute this model"
            )
        return value

    width, heads = number("embedding_length"), number("attention.head_count")
    head_width = number("attention.key_length", width // heads)
    scaling = head.metadata.get("llama.rope.scaling.type", "none")
    turned = number("rope.dimension_count", head_width)
    experts = number("expert_count", 0)
    if scaling != "none" or turned != head_width or experts:
        raise UnsupportedError(
            f"{head.path} has rope scaling {scaling!r}, {turned} of {head_width} dimensions "
            f"turned and {experts} experts; the NumPy engine computes 'none', all and 0 only: "
            "use engine='libllama'"
        )
    return _Shape(
        layers=number("block_count"),
        width=width,
        heads=heads,
        key_heads=number("attention.head_count_kv", heads),
        head_width=head_width,
        epsilon=number("attention.layer_norm_rms_epsilon"),
        rope_base=number("rope.freq_base", 10000.0),
        context=number("context_length"),
    )


def _require_known_tensors(head: Gguf, layers: int) -> None:
    """Return if the file has all tensors that are used here, and no other."""
    names = {f"blk.{i}.{part}.weight" for i in range(layers) for part in _LAYER + _LAYER_FEED}
    names |= {"token_embd.weight", "output_norm.weight"}
    present = head.tensors.keys() - {"output.weight"}
    if odd := sorted(names ^ present):
        raise UnsupportedError(
            f"{head.path} has other tensors than a plain Llama model: {', '.join(odd[:4])} "
            f"({len(odd)} in all) missing or unknown; use engine='libllama'"
        )


def _weights(head: Gguf) -> Iterator[tuple[str, _Matrix]]:
    """Yield every tensor by name."""
    with (
        head.path.open("rb") as file,
        mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data,
    ):
        for name, tensor in head.tensors.items():
            yield name, _array(head, name, tensor, data)


def _array(head: Gguf, name: str, tensor: Tensor, data: mmap.mmap) -> _Matrix:
    size = tensor.size
    if size is None:
        raise UnsupportedError(
            f"{head.path}: the tensor {name} has the format {tensor.format}; the NumPy engine "
            f"reads {', '.join(BLOCKS)}: use engine='libllama'"
        )
    number, _, block_bytes = BLOCKS[tensor.format]
    # bytes, not a view: the file is closed after loading
    raw = np.frombuffer(data[tensor.start : tensor.start + size], np.uint8)
    plain = dequantize(raw, GGMLQuantizationType(number)).reshape(tensor.shape)
    lows = np.zeros((0, 0), np.float32)
    if tensor.format == "Q4_1":  # each block: step and low in 16 bits, then the counts
        halves = raw.reshape(tensor.shape[0], -1, block_bytes)[..., 2:4].copy().view(np.float16)
        lows = halves[..., 0].astype(np.float32)
    return _Matrix(
        weights=np.ascontiguousarray(plain, dtype=np.float32), format=tensor.format, lows=lows
    )


def _layer(weights: dict[str, _Matrix], index: int) -> _Layer:
    """Return one layer, taken out of `weights`."""

    def take(part: str) -> _Matrix:
        return weights.pop(f"blk.{index}.{part}.weight")

    return _Layer(
        attention_norm=take("attn_norm").weights,
        query=take("attn_q"),
        key=take("attn_k"),
        value=take("attn_v"),
        attention_out=take("attn_output"),
        feed_norm=take("ffn_norm").weights,
        gate=take("ffn_gate"),
        up=take("ffn_up"),
        down=take("ffn_down"),
    )
