"""Constraints as token masks: an Outlines processor on the llguidance back end.

Neighbours: `_decoding` asks a GrammarMask which tokens may come next and which must; Outlines'
own `Generator(model, processor=...)` can drive the same object. This file chooses no token and
evaluates no model.

A matcher is always asked for its error before it is used: in its error state it would allow
nothing but the end of the answer. A constraint is a Lark grammar, with the schema that it was
written from to name the place of an error in, or a JSON Schema alone. Objects are written with
", " and ": " and no other whitespace, which is what models are used to and leaves no room for
endless blanks.
"""

from __future__ import annotations

import copy
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from llguidance import LLMatcher, LLParserLimits, LLTokenizer, TokenizerWrapper
from outlines.backends.llguidance import LLGuidanceLogitsProcessor

from extractkit import paths
from extractkit.errors import ProviderError, SchemaError, UsageError
from extractkit.messages import Constraint
from extractkit.providers.local._engine import Vocabulary

__all__ = ["GrammarCompiler", "GrammarMask", "Legal"]

Legal: TypeAlias = npt.NDArray[np.intp]
"""Ids of the tokens that may come next, ascending."""

_Tokenize: TypeAlias = Callable[[str], Sequence[int]]

# All five are stated, because a schema may carry "x-guidance" options of its own, and a lenient
# compilation would drop keywords.
_JSON_OPTIONS: Any = {
    "whitespace_flexible": False,
    "item_separator": ", ",
    "key_separator": ": ",
    "lenient": False,
    "coerce_one_of": False,
}
_SPECIAL = b"\xff"  # llguidance's mark of a token that is not text
_IN_GRAMMAR = re.compile(r"\Aat \d+\(\d+\): (?:failed to compile JSON schema: )?")
_CONTEXT = re.compile(r"\n  while processing|\n +\d+ \| ")
_SCHEMA_MAPS = ("$defs", "definitions", "properties", "patternProperties")
_SCHEMA_LISTS = ("prefixItems", "allOf", "anyOf", "oneOf")
_SCHEMA_SINGLES = ("items", "additionalProperties", "not", "if", "then", "else", "contains")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Compiled:
    grammar: str
    matcher: LLMatcher
    warnings: tuple[str, ...]


class GrammarMask(LLGuidanceLogitsProcessor):
    """Says which tokens may come next in one answer.

    Two ways of use, which may be mixed on one sequence: `forced`, `legal` and `accept`, or the
    call `mask(input_ids, logits)` of an Outlines processor. The call consumes what was appended
    to `input_ids` since the last one, less the tokens that `forced` and `accept` have consumed.

    Attributes:
        warnings: What llguidance had to say about the grammar.
    """

    def __init__(
        self, grammar: str, matcher: LLMatcher, tokenizer: LLTokenizer, warnings: tuple[str, ...]
    ) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]  # Outlines leaves it untyped
            grammar, tokenizer, "numpy"
        )
        self.warnings = warnings
        self._pristine = matcher
        self._tokenizer = tokenizer
        self._size = tokenizer.vocab_size
        self._bits = np.zeros((self._size + 31) // 32, dtype=np.uint32)
        self._matchers: list[LLMatcher] = []
        self._consumed: list[int] = []
        self._prompt_length: int | None = None
        self.reset()

    def reset(self) -> None:
        """Go back to the start of an answer."""
        self._setup(1)

    def fork(self) -> GrammarMask:
        """Return a mask at the same place, which goes on by itself."""
        other = copy.copy(self)  # the scratch space for one mask serves both
        other._matchers = [matcher.deep_copy() for matcher in self._matchers]
        other._consumed = self._consumed.copy()
        return other

    def _setup(self, batch_size: int) -> None:
        self._matchers = [self._pristine.deep_copy() for _ in range(batch_size)]
        self._consumed = [0] * batch_size
        self._prompt_length = None

    @property
    def finished(self) -> bool:
        """Whether the answer is whole and nothing can follow.

        Raises:
            ProviderError: If the matcher failed.
        """
        self._check(0)
        return self._matchers[0].is_stopped()

    @property
    def complete(self) -> bool:
        """Whether the answer may end here."""
        return self._matchers[0].is_accepting()

    def forced(self) -> list[int]:
        """Return the tokens that must come next, consumed already; empty where there is a choice.

        Raises:
            ProviderError: If the matcher failed.
        """
        tokens = self._matchers[0].compute_ff_tokens()
        if tokens:
            self._consume(0, tokens)
        self._check(0)
        return tokens

    def ahead(self) -> bytes:
        """Return the bytes that must come next, however they are cut into tokens.

        Beyond `forced`, that is what can still be more than one token.

        Raises:
            ProviderError: If the matcher failed.
        """
        data = self._matchers[0].compute_ff_bytes()
        self._check(0)
        return data

    def written(self, data: bytes) -> list[int]:
        """Return tokens whose bytes are `data`, which must come next; they are consumed.

        Raises:
            ProviderError: If the grammar does not allow them.
        """
        tokens = self._tokenizer.tokenize_bytes(data)
        if tokens:
            self._consume(0, tokens)
        return tokens

    def legal(self) -> Legal:
        """Return the ids of the tokens that may come next, at least one.

        Raises:
            ProviderError: If the matcher failed or allows nothing.
        """
        legal = np.flatnonzero(self._allowed(0))
        if not legal.size:
            raise ProviderError(
                "the grammar allows no further token although the answer is not whole; "
                "report this with the schema",
                provider="local",
            )
        return legal

    def accept(self, token: int) -> None:
        """Append `token` to the answer.

        Raises:
            ProviderError: If the grammar does not allow it.
        """
        self._consume(0, [token])

    def process_logits(self, input_ids: Any, logits: Any) -> Any:  # any tensor, says Outlines
        """Return `logits` with -inf for every token that may not come next, changed in place.

        Args:
            input_ids: Integers, shape (batch, length): prompt and answer, or the answer alone.
            logits: Floats, shape (batch, n_vocab).

        Raises:
            ProviderError: If the grammar does not allow what was appended.
        """
        rows, length = input_ids.shape
        start = self._prompt_length
        if start is None:
            if rows != len(self._matchers):
                self._setup(rows)
            start = self._prompt_length = int(length) - self._consumed[0]
        for row in range(rows):
            self._catch_up(row, input_ids[row, start + self._consumed[row] :].tolist())
            allowed = self._allowed(row)
            logits[row, : self._size][~allowed] = -np.inf
            logits[row, self._size :] = -np.inf
        return logits

    def _catch_up(self, row: int, tokens: list[int]) -> None:
        """Consume `tokens`; in a batch, a row that is whole is padded while others go on."""
        for token in tokens:
            if self._matchers[row].is_stopped() and not self._matchers[row].is_error():
                self._consumed[row] += 1
            else:
                self._consume(row, [token])

    def _allowed(self, row: int) -> npt.NDArray[np.bool_]:
        self._matchers[row].unsafe_compute_mask_ptr(self._bits.ctypes.data, self._bits.nbytes)
        self._check(row)
        flags = np.unpackbits(self._bits.view(np.uint8), count=self._size, bitorder="little")
        return flags.view(np.bool_)

    def _consume(self, row: int, tokens: list[int]) -> None:
        self._matchers[row].consume_tokens(tokens)
        self._check(row)
        self._consumed[row] += len(tokens)

    def _check(self, row: int) -> None:
        if self._matchers[row].is_error():
            raise ProviderError(
                f"the grammar failed while decoding: {self._matchers[row].get_error()}; "
                "simplify the schema, or report this with it",
                provider="local",
            )


class GrammarCompiler:
    """Compiles constraints for the vocabulary of one model. Not thread-safe.

    Building one walks the whole vocabulary (about 0.1 s for 49,000 tokens): keep it as long as
    the model. Compiled grammars are kept by their text, the least recently used dropped first.

    Args:
        vocabulary: The model's tokens.
        tokenize: Text to tokens, names of control tokens being text.
        end_ids: Tokens beside `vocabulary.eos_id` that end an answer.
        keep: How many compiled grammars are kept, at least 1.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        tokenize: _Tokenize,
        *,
        end_ids: Sequence[int] = (),
        keep: int = 64,
    ) -> None:
        ends = [vocabulary.eos_id, *(token for token in end_ids if token != vocabulary.eos_id)]
        self._tokenizer = LLTokenizer(
            TokenizerWrapper(_TokenizerView(vocabulary, tokenize)), eos_token=ends
        )
        # Errors name the cause; the parser state and the whole grammar would bury it.
        # Words of the source of up to 1000 characters (`schema.grammar.runs`) need more steps of
        # looking ahead than the default allows.
        self._limits = LLParserLimits(
            verbose_errors=False, initial_lexer_fuel=20_000_000, step_lexer_fuel=5_000_000
        )
        self._keep = keep
        self._compiled: OrderedDict[str, _Compiled] = OrderedDict()

    def mask(self, constraint: Constraint) -> GrammarMask:
        """Return a mask at the start of an answer.

        Raises:
            SchemaError: If llguidance cannot enforce the constraint; names the place.
            UsageError: If the constraint is a grammar and none is given.
        """
        grammar = _grammar_of(constraint)
        compiled = self._compiled.get(grammar)
        if compiled is None:
            compiled = self._compile(grammar, constraint)
            self._compiled[grammar] = compiled
            if len(self._compiled) > self._keep:
                self._compiled.popitem(last=False)
        self._compiled.move_to_end(grammar)
        return GrammarMask(grammar, compiled.matcher, self._tokenizer, compiled.warnings)

    def _compile(self, grammar: str, constraint: Constraint) -> _Compiled:
        matcher = LLMatcher(self._tokenizer, grammar, log_level=0, limits=self._limits)
        if matcher.is_error():
            raise self._refusal(constraint, _cause([matcher.get_error()]))
        warnings = tuple(matcher.get_grammar_warnings())
        return _Compiled(grammar=grammar, matcher=matcher, warnings=warnings)

    def _validate(self, grammar: str) -> tuple[bool, list[str]]:
        return LLMatcher.validate_grammar_with_warnings(
            grammar, self._tokenizer, limits=self._limits
        )

    def _refusal(self, constraint: Constraint, cause: str) -> SchemaError:
        if not constraint.schema:
            return SchemaError(f"llguidance cannot read the grammar {constraint.name!r}: {cause}")
        pointer = self._place(constraint.schema, cause)
        place = pointer or "the root"
        return SchemaError(
            f"llguidance cannot enforce the schema {constraint.name!r}: {cause} (at {place} of "
            "the schema as sent); expected keywords that it supports: change the schema there, "
            'compile it for the dialect "llguidance", or use strategy="prompt"',
            pointer=pointer,
            findings=((pointer, cause),),
        )

    def _place(self, schema: Mapping[str, Any], cause: str) -> paths.Pointer:
        """Return the pointer of the innermost subschema that fails for the same cause."""
        definitions = {key: schema[key] for key in ("$defs", "definitions") if key in schema}
        pointer, here = "", schema
        while True:
            for tokens, child in _subschemas(here):
                alone = {**definitions, **child}
                failed, messages = self._validate(_json_grammar(alone))
                if failed and _cause(messages) == cause:
                    pointer, here = paths.join(pointer, *tokens), child
                    break
            else:
                return pointer


class _TokenizerView:
    """What llguidance wants to know of a tokenizer."""

    bos_token_id = None

    def __init__(self, vocabulary: Vocabulary, tokenize: _Tokenize) -> None:
        control = vocabulary.control_ids
        self.eos_token_id = vocabulary.eos_id
        self.special_token_ids = sorted(control)
        self.tokens = [
            _SPECIAL + piece if token in control else piece
            for token, piece in enumerate(vocabulary.pieces)
        ]
        self._tokenize = tokenize

    def __call__(self, text: bytes) -> list[int]:
        return list(self._tokenize(text.decode()))


def _grammar_of(constraint: Constraint) -> str:
    if constraint.kind == "json_schema":
        return _json_grammar(constraint.schema)
    if constraint.grammar is None:
        raise UsageError(
            f"Constraint(kind='grammar', name={constraint.name!r}) has no grammar; give the Lark "
            "text in `grammar`"
        )
    return LLMatcher.grammar_from_lark(constraint.grammar)


def _json_grammar(schema: Mapping[str, Any]) -> str:
    text = json.dumps(dict(schema), ensure_ascii=False)
    return LLMatcher.grammar_from_json_schema(text, overrides=_JSON_OPTIONS)


def _cause(messages: Sequence[str]) -> str:
    """Return the error alone; which definition was being read is found out by `_place`."""
    cause = _IN_GRAMMAR.sub("", messages[0])
    return _CONTEXT.split(cause, maxsplit=1)[0].strip()


def _subschemas(
    schema: Mapping[str, Any],
) -> Iterator[tuple[tuple[str | int, ...], Mapping[str, Any]]]:
    """Yield (tokens of the pointer, subschema) of the direct children, definitions first."""
    for key in _SCHEMA_MAPS:
        for name, child in schema.get(key, {}).items():
            if isinstance(child, dict):
                yield (key, name), child
    for key in _SCHEMA_LISTS:
        for index, child in enumerate(schema.get(key, ())):
            if isinstance(child, dict):
                yield (key, index), child
    for key in _SCHEMA_SINGLES:
        if isinstance(child := schema.get(key), dict):
            yield (key,), child
