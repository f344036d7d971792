"""Compile a target for a dialect, and take its answers back exactly.

    describe -> read -> lowerings -> write        what is sent
    convert                                       a document there and back
    bounds                                        limits while decoding
    claims                                        what must stand in the source
    lint                                          what makes wrong answers likely

Neighbours: `prompts`, `checks`, `providers` and `engine` use what is compiled here. This room
sends nothing, judges nothing and imports no engine.
"""

from extractkit.schema.bounds import BoundedSchema, Bounds, InjectedBound
from extractkit.schema.claims import Claim
from extractkit.schema.compile import Codes, compile_coded, compile_request, compile_schema
from extractkit.schema.compiled import CompiledSchema
from extractkit.schema.convert import Fault
from extractkit.schema.dialects import DIALECTS, Dialect
from extractkit.schema.explain import Explanation, Place
from extractkit.schema.legend import CodedChoice, Member
from extractkit.schema.lint import LINT_RULES, LintFinding, LintRule, lint
from extractkit.schema.lowerings.texts import format_of
from extractkit.schema.report import InWords, Rewritten, Unenforced

__all__ = [
    "DIALECTS",
    "LINT_RULES",
    "BoundedSchema",
    "Bounds",
    "Claim",
    "CodedChoice",
    "Codes",
    "CompiledSchema",
    "Dialect",
    "Explanation",
    "Fault",
    "InWords",
    "InjectedBound",
    "LintFinding",
    "LintRule",
    "Member",
    "Place",
    "Rewritten",
    "Unenforced",
    "compile_coded",
    "compile_request",
    "compile_schema",
    "format_of",
    "lint",
]
