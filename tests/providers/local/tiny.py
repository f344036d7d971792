"""A model of a few kilobytes with random weights, for what needs a real file but no real model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gguf
import numpy as np

CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
WIDTH, HEADS, KEY_HEADS, LAYERS, FEED, CONTEXT = 256, 4, 2, 2, 256, 2048
MERGES = ("Ġ t", "h e", "Ġt he", "i n", "e r", "o n", "Ġ a", "r e", "Ċ Ċ", "Ã ©")


def write_tiny(
    path: Path,
    kind: str = "F32",
    *,
    change: dict[str, Any] | None = None,
    extra: str | None = None,
    tied: bool = True,
    scale: float = 0.08,
) -> Path:
    """Write a small model of the architecture "llama" and return `path`.

    Args:
        path: Where.
        kind: Format of the matrices, one that `gguf` can write.
        change: Metadata that differs from the usual; None leaves a key out.
        extra: Name of one more tensor.
        tied: Whether the embedding serves as the output matrix too.
        scale: Size of the weights.
    """
    words, types = _words()
    heads: dict[str, Any] = {
        "llama.context_length": CONTEXT,
        "llama.embedding_length": WIDTH,
        "llama.block_count": LAYERS,
        "llama.feed_forward_length": FEED,
        "llama.attention.head_count": HEADS,
        "llama.attention.head_count_kv": KEY_HEADS,
        "llama.rope.dimension_count": WIDTH // HEADS,
        "llama.rope.freq_base": 10000.0,
        "llama.attention.layer_norm_rms_epsilon": 1e-5,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": words,
        "tokenizer.ggml.token_type": types,
        "tokenizer.ggml.merges": list(MERGES),
        "tokenizer.ggml.bos_token_id": 1,
        "tokenizer.ggml.eos_token_id": 2,
        "tokenizer.ggml.add_bos_token": False,
    }
    changed = heads | (change or {})
    writer = gguf.GGUFWriter(path, changed.pop("general.architecture", "llama"))
    for key, value in changed.items():
        if value is not None:
            _add(writer, key, value)
    for name, array in _tensors(len(words), scale, tied=tied, extra=extra):
        format_ = gguf.GGMLQuantizationType[kind if array.ndim > 1 else "F32"]
        data = gguf.quants.quantize(array, format_)
        writer.add_tensor(name, data, raw_dtype=format_)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _words() -> tuple[list[str], list[int]]:
    letters = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    alphabet = [chr(code) for code in letters] + [chr(0x100 + place) for place in range(68)]
    merged = ["".join(merge.split(" ")) for merge in MERGES]
    words = [*CONTROL, *alphabet, *merged]
    return words, [3] * len(CONTROL) + [1] * (len(words) - len(CONTROL))


def _add(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    if isinstance(value, bool):
        writer.add_bool(key, value)
    elif isinstance(value, int):
        writer.add_uint32(key, value)
    elif isinstance(value, float):
        writer.add_float32(key, value)
    elif isinstance(value, str):
        writer.add_string(key, value)
    else:
        writer.add_array(key, value)


def _tensors(
    vocabulary: int, scale: float, *, tied: bool, extra: str | None
) -> list[tuple[str, np.ndarray[Any, Any]]]:
    random = np.random.default_rng(5)
    keys = WIDTH // HEADS * KEY_HEADS
    shapes: dict[str, tuple[int, ...]] = {"token_embd": (vocabulary, WIDTH)}
    if not tied:
        shapes["output"] = (vocabulary, WIDTH)
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.attn_norm": (WIDTH,),
            f"blk.{layer}.attn_q": (WIDTH, WIDTH),
            f"blk.{layer}.attn_k": (keys, WIDTH),
            f"blk.{layer}.attn_v": (keys, WIDTH),
            f"blk.{layer}.attn_output": (WIDTH, WIDTH),
            f"blk.{layer}.ffn_norm": (WIDTH,),
            f"blk.{layer}.ffn_gate": (FEED, WIDTH),
            f"blk.{layer}.ffn_up": (FEED, WIDTH),
            f"blk.{layer}.ffn_down": (WIDTH, FEED),
        }
    shapes["output_norm"] = (WIDTH,)
    if extra is not None:
        shapes[extra] = (WIDTH,)
    return [
        (
            f"{name}.weight",
            (random.standard_normal(shape) * scale + (len(shape) == 1)).astype(np.float32),
        )
        for name, shape in shapes.items()
    ]
