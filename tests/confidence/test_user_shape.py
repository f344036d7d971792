"""Whatever is rewritten on the wire, every leaf of the user's document has its confidence.

Over generated types and values, in every dialect, with tokens that cut the answer anywhere.
"""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from extractkit.confidence import score
from extractkit.errors import SchemaError
from extractkit.parsing import parse_json
from extractkit.paths import walk
from extractkit.schema import DIALECTS, compile_schema
from tests.confidence.making import token
from tests.schema.strategies_models import budget, lowered_or_too_deep, models, values

pytestmark = pytest.mark.filterwarnings("ignore:.*skipped-discriminator")

SPACES = st.sampled_from([(",", ":"), (", ", ": ")])


@pytest.mark.parametrize("dialect", sorted(DIALECTS))
@budget(12)
@given(data=st.data())
def test_every_leaf_has_a_number_or_a_reason(dialect: str, data: st.DataObject) -> None:
    target = data.draw(models())
    try:
        compiled = compile_schema(target, dialect)
    except SchemaError:
        assume(False)
        raise
    document = data.draw(values(target))
    wire = lowered_or_too_deep(compiled, document)
    indent = data.draw(st.sampled_from([None, None, 2]))
    text = json.dumps(
        wire, ensure_ascii=data.draw(st.booleans()), separators=data.draw(SPACES), indent=indent
    )
    raw = text.encode("utf-8", "surrogatepass")
    cuts = sorted({0, len(raw), *data.draw(st.lists(st.integers(0, len(raw)), max_size=40))})
    tokens = [token(raw[low:high], -0.1) for low, high in pairwise(cuts)]
    leaves = [pointer for pointer, _ in walk(compiled.lift(wire))]
    scores = score(tokens, text, parse_json(text), compiled, leaves=leaves)
    assert list(scores.leaves) == leaves
    for pointer, found in scores.leaves.items():
        if found.kind == "unavailable":
            assert found.probability is None
            assert "no value of its own" not in found.reason, (pointer, text, document)
            assert "do not fit" not in found.reason, (pointer, text, document)
            assert "none of those that are legal" not in found.reason, (pointer, text, document)
        else:
            assert found.probability is not None
            assert 0 < found.probability < 1
    for found in (*scores.presence.values(), *scores.lengths.values()):
        assert found.reason or found.probability
        assert "do not fit" not in found.reason, (text, document)
