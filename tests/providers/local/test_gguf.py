"""Heads of GGUF files, against the `gguf` package, and files that are none or not whole."""

from __future__ import annotations

import struct
from pathlib import Path

import gguf
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractkit.errors import UnsupportedError, UsageError
from extractkit.providers.local._gguf import BLOCKS, read_gguf

from .tiny import write_tiny


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny(tmp_path_factory.mktemp("tiny") / "tiny.gguf", "Q4_1")


def test_metadata_and_tensors_are_what_the_gguf_package_reads(tiny: Path) -> None:
    ours, theirs = read_gguf(tiny), gguf.GGUFReader(tiny)
    fields = {k: f.contents() for k, f in theirs.fields.items() if not k.startswith("GGUF.")}
    assert dict(ours.metadata) == fields
    assert {
        name: (tensor.shape, tensor.format, tensor.start, tensor.size)
        for name, tensor in ours.tensors.items()
    } == {
        t.name: (
            tuple(int(n) for n in reversed(t.shape)),
            t.tensor_type.name,
            t.data_offset,
            t.n_bytes,
        )
        for t in theirs.tensors
    }
    assert ours.length == tiny.stat().st_size


def test_block_sizes_are_those_of_the_gguf_package() -> None:
    for name, (number, values, size) in BLOCKS.items():
        kind = gguf.GGMLQuantizationType[name]
        assert (kind.value, gguf.GGML_QUANT_SIZES[kind]) == (number, (values, size))


def test_a_format_that_is_not_computed_has_a_name_and_no_size(tmp_path: Path) -> None:
    writer = gguf.GGUFWriter(tmp_path / "odd.gguf", "llama")
    kind = gguf.GGMLQuantizationType.Q5_0
    import numpy as np

    writer.add_tensor("a", gguf.quants.quantize(np.ones((2, 32), np.float32), kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tensor = read_gguf(tmp_path / "odd.gguf").tensors["a"]
    assert (tensor.format, tensor.size, tensor.shape) == ("type 6", None, (2, 32))


def test_nested_arrays_are_read(tmp_path: Path) -> None:
    inner = struct.pack("<IQ2i", 5, 2, -1, 7)
    value = struct.pack("<IQ", 9, 1) + inner
    key = struct.pack("<Q3sI", 3, b"abc", 9)
    path = tmp_path / "nested.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + key + value)
    assert read_gguf(path).metadata == {"abc": [[-1, 7]]}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"GGUF", "ends after its first letters"),
        (b"GGU", 'starts with the letters "GGU"'),
        (b"hello", 'starts with the letters "hell"'),
        (b"PK\x03\x04zip file", "starts with the bytes 50 4b 03 04"),
    ],
)
def test_what_is_no_gguf_file_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=rf"page\.gguf is not a GGUF file: it {said}"):
        read_gguf(path)


def test_other_versions_are_named(tmp_path: Path) -> None:
    path = tmp_path / "new.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<I", 9))
    with pytest.raises(UnsupportedError, match="GGUF version 9"):
        read_gguf(path)


def test_a_file_that_ends_early_is_noticed_wherever_it_ends(tiny: Path, tmp_path: Path) -> None:
    whole = tiny.read_bytes()
    head = read_gguf(tiny)
    first = min(tensor.start for tensor in head.tensors.values())
    cut = tmp_path / "cut.gguf"
    for length in (*range(8, first, 97), first, len(whole) - 1):
        cut.write_bytes(whole[:length])
        with pytest.raises(UsageError, match="cut short"):
            read_gguf(cut)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.integers(8, 4000), byte=st.integers(0, 255))
def test_a_damaged_head_is_read_or_refused_and_nothing_else(
    tiny: Path, tmp_path: Path, place: int, byte: int
) -> None:
    data = bytearray(tiny.read_bytes())
    data[place] = byte
    path = tmp_path / "damaged.gguf"
    path.write_bytes(data)
    try:
        read_gguf(path)
    except UsageError as error:
        assert "damaged.gguf" in str(error)


@pytest.mark.parametrize(
    "head",
    [
        struct.pack("<QQ", 0, 1) + struct.pack("<Q1sI", 1, b"a", 77),
        struct.pack("<QQ", 0, 1) + struct.pack("<Q1sIIQ", 1, b"a", 9, 4, 2**62),
        struct.pack("<QQ", 0, 1)
        + struct.pack("<Q1sI", 1, b"a", 9)
        + struct.pack("<IQ", 9, 1) * 5000,
        struct.pack("<QQ", 0, 1) + struct.pack("<Q17sII", 17, b"general.alignment", 4, 0),
    ],
    ids=["unknown kind", "huge array", "deep arrays", "no alignment"],
)
def test_heads_that_mean_nothing_are_refused(tmp_path: Path, head: bytes) -> None:
    path = tmp_path / "odd.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<I", 3) + head)
    with pytest.raises(UsageError, match="damaged or cut short"):
        read_gguf(path)
