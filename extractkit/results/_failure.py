"""A request that failed for good, as plain facts that can be written down.

Neighbours: `engine` says of a result that one did, `batch` and `evaluation` do not take such a
result for the model's answer.
"""

from __future__ import annotations

from dataclasses import dataclass

from extractkit import errors
from extractkit.errors import ExtractkitError, ProviderError

__all__ = ["RequestFailure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestFailure:
    """How a request failed for good.

    Attributes:
        kind: The class in `extractkit.errors`, such as "RateLimitError".
        message: What happened, and what to do.
        provider: Who was asked.
        model: The model's name as the caller gave it.
        status_code: HTTP status, where there was one.
        request_id: The provider's id of the request, where it gave one.
        attempts: How often the request was made.
    """

    kind: str
    message: str
    provider: str | None = None
    model: str | None = None
    status_code: int | None = None
    request_id: str | None = None
    attempts: int = 1

    @classmethod
    def of(cls, error: ExtractkitError) -> RequestFailure:
        """Return what an error says; a class of the user's counts as the one of ours above it."""
        ours = (kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
        kind = next(ours).__name__
        if not isinstance(error, ProviderError):
            return cls(kind=kind, message=error.message)
        return cls(
            kind=kind,
            message=error.message,
            provider=error.provider,
            model=error.model,
            status_code=error.status_code,
            request_id=error.request_id,
            attempts=error.attempts,
        )

    def error(self) -> ExtractkitError:
        """Return the error again; an ExtractkitError where the class is not known."""
        found: object = getattr(errors, self.kind, None)
        kind = found if isinstance(found, type) else ExtractkitError
        if issubclass(kind, ProviderError):
            return kind(
                self.message,
                provider=self.provider,
                model=self.model,
                status_code=self.status_code,
                request_id=self.request_id,
                attempts=self.attempts,
            )
        return (
            kind(self.message)
            if issubclass(kind, ExtractkitError)
            else ExtractkitError(self.message)
        )
