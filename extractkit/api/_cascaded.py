"""What a cascade gives back: every model that was asked, and why it was left where it was.

Neighbours: `_cascade` asks, `_cascade_report` counts over many inputs. Frozen values, nothing else.
"""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from typing import Any, Final, Generic, TypeVar

from pydantic import TypeAdapter

from extractkit.calibration import Decision
from extractkit.errors import AbstainedError, UsageError
from extractkit.messages import Usage
from extractkit.paths import JsonObject, is_array, is_object
from extractkit.results import ExtractionResult

__all__ = ["CascadeResult", "CascadeStage", "named"]

T = TypeVar("T")

_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeStage(Generic[T]):
    """One model that was asked.

    Attributes:
        place: Its place among the Extractors of the cascade, from 0.
        provider: Who was asked.
        model: The model, as it was configured.
        result: What came; None where the model could not be asked.
        decision: What the policy says of that; None where no policy judges this stage, or nothing
            came.
        reason: Why the answer is not kept; empty where it is.
        usage: Tokens of all attempts.
        cost_usd: What they cost in US dollars; None where that is not known.
        seconds: Wall time.
    """

    place: int
    provider: str
    model: str
    result: ExtractionResult[T] | None
    decision: Decision | None = None
    reason: str = ""
    usage: Usage = Usage()
    cost_usd: Decimal | None = None
    seconds: float = 0.0

    @property
    def kept(self) -> bool:
        """Whether the answer is kept; where no policy judges, whether there is a value."""
        return not self.reason


@dataclass(frozen=True, slots=True, kw_only=True)
class CascadeResult(Generic[T]):
    """The answer of the last model that gave one, and what became of those asked before.

    Attributes:
        stages: Every model that was asked, in order; one at least gave a result.

    Raises:
        UsageError: If no stage has a result.
    """

    stages: tuple[CascadeStage[T], ...]

    def __post_init__(self) -> None:
        if all(stage.result is None for stage in self.stages):
            raise UsageError(
                f"CascadeResult: none of {len(self.stages)} stages has a result; expected one"
            )

    @property
    def stage(self) -> CascadeStage[T]:
        """The stage whose answer is given out: the last one that gave one."""
        return next(stage for stage in reversed(self.stages) if stage.result is not None)

    @property
    def result(self) -> ExtractionResult[T]:
        """The answer that is given out, whether it is kept or not."""
        results = [stage.result for stage in self.stages]
        return next(result for result in reversed(results) if result is not None)

    @property
    def kept(self) -> bool:
        """Whether the answer is kept; if not, `reason` says why."""
        return self.stage.kept

    @property
    def reason(self) -> str:
        """Why the answer is not kept, and why no later model answered; empty where it is kept."""
        if self.kept:
            return ""
        later = self.stages[self.stages.index(self.stage) + 1 :]
        return "; then ".join([self.stage.reason, *(f"{named(at)}: {at.reason}" for at in later)])

    @property
    def value(self) -> T | None:
        """The value where the answer is kept, else None; `result.value` has it in any case."""
        return self.result.value if self.kept else None

    @property
    def usage(self) -> Usage:
        """Tokens of all stages together."""
        return sum((stage.usage for stage in self.stages), Usage())

    @property
    def cost_usd(self) -> Decimal | None:
        """What all stages cost in US dollars; None where that of one is not known."""
        costs = [stage.cost_usd for stage in self.stages]
        known = [cost for cost in costs if cost is not None]
        return sum(known, Decimal(0)) if len(known) == len(costs) else None

    def unwrap(self) -> T:
        """Return the value of an answer that is kept.

        Raises:
            AbstainedError: If there is a value that the policy does not keep.
            RefusedError: If the model declined.
            TruncatedError: If the answer was cut off.
            FilteredError: If a content filter withheld it.
            InvalidError: If no answer reached the required level.
        """
        if self.result.ok and not self.kept:
            raise AbstainedError(
                f"no answer of {len(self.stages)} models is kept; the last one: {self.reason}; "
                "it is in result.value all the same",
                result=self.result,
            )
        return self.result.unwrap()

    def to_json(self, *, indent: int | None = None) -> str:
        """Return everything as JSON text; `from_json` reads it back.

        Raises:
            UsageError: If a value has something that JSON cannot say.
        """
        stages = [_written(stage) for stage in self.stages]
        record = {"kind": "cascade", "version": _VERSION, "stages": stages}
        return json.dumps(record, ensure_ascii=False, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, target: Any, text: str) -> CascadeResult[Any]:
        """Return what `to_json` wrote. The record is believed, not checked again.

        Args:
            target: The target of the extractions, for the type of the values.
            text: What `to_json` returned.

        Raises:
            UsageError: If the text is not such a record, or does not fit the target.
        """
        try:
            record = json.loads(text)
            stages = record["stages"] if _is_ours(record) else None
            if not is_array(stages) or not all(map(is_object, stages)):
                raise UsageError("found another JSON value, or another version")
            return CascadeResult(stages=tuple(_read(stage, target) for stage in stages))
        except (ValueError, TypeError, KeyError, RecursionError) as exc:
            raise UsageError(f"not a result of a cascade: {exc}") from exc


def named(stage: CascadeStage[Any]) -> str:
    """Return what a stage is called where something is said of it."""
    return f"stage {stage.place} ({stage.provider} {stage.model})"


def _is_ours(record: object) -> bool:
    return (
        is_object(record) and record.get("kind") == "cascade" and record.get("version") == _VERSION
    )


def _written(stage: CascadeStage[Any]) -> JsonObject:
    bare = dataclasses.replace(stage, result=None)
    record: JsonObject = _adapter().dump_python(bare, mode="json")
    if stage.result is not None:
        record["result"] = json.loads(stage.result.to_json())
    return record


def _read(record: JsonObject, target: Any) -> CascadeStage[Any]:
    stage = _adapter().validate_json(json.dumps({**record, "result": None}))
    if record["result"] is None:
        return stage
    result = ExtractionResult.from_json(target, json.dumps(record["result"]))
    return dataclasses.replace(stage, result=result)


@cache
def _adapter() -> TypeAdapter[CascadeStage[Any]]:
    return TypeAdapter(CascadeStage[Any])
