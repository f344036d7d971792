"""Every exception of the library.

    ExtractkitError
    ├─ UsageError (ValueError)            the caller can fix it; raised before any request
    │   ├─ SchemaError                    the target cannot be expressed
    │   └─ UnsupportedError               this provider, dialect or strategy lacks what was asked
    ├─ MissingDependencyError (ImportError)
    ├─ ProviderError                      the model could not be asked, or the reply is broken
    │   ├─ AuthenticationError  PermissionDeniedError  NotFoundError  BadRequestError
    │   ├─ RateLimitError  ServerError  ConnectError  RequestTimeoutError      (retryable)
    │   └─ MalformedResponseError
    ├─ DeadlineExceededError              the total time budget ended
    └─ ExtractionError                    only from unwrap() of a result
        └─ RefusedError  TruncatedError  FilteredError  InvalidError  AbstainedError
           NotConfirmedError

What the model did is a result; what the caller or the network did is an exception. Every
message says what was found, what was expected and what to do. All of them pickle: the message
is the only positional argument and every other fact is an attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = [
    "AbstainedError",
    "AuthenticationError",
    "BadRequestError",
    "ConnectError",
    "DeadlineExceededError",
    "ExtractionError",
    "ExtractkitError",
    "FilteredError",
    "InvalidError",
    "MalformedResponseError",
    "MissingDependencyError",
    "NotConfirmedError",
    "NotFoundError",
    "PermissionDeniedError",
    "ProviderError",
    "RateLimitError",
    "RefusedError",
    "RequestTimeoutError",
    "SchemaError",
    "ServerError",
    "TruncatedError",
    "UnsupportedError",
    "UsageError",
]


class ExtractkitError(Exception):
    """Anything that this library raises on purpose.

    Attributes:
        earlier: In a Cascade, the CascadeResult of the models that had answered before; else None.
        retries: How often a request of the extraction had been sent again by then.
        usage: Tokens of what was answered by then, as a Usage; None where nothing was.
        cost_usd: What that cost in US dollars; None where nothing was, or no price is known.
    """

    earlier: Any = None
    retries: int = 0
    usage: Any = None
    cost_usd: Any = None

    def __init__(self, message: str) -> None:
        super().__init__(message)

    @property
    def message(self) -> str:
        """The sentence that says what happened and what to do."""
        return str(self.args[0])


class UsageError(ExtractkitError, ValueError):
    """The call cannot be carried out as written; raised before any request.

    Attributes:
        pointer: JSON Pointer into the user's model, or None where no place is meant.
    """

    def __init__(self, message: str, *, pointer: str | None = None) -> None:
        super().__init__(message)
        self.pointer = pointer


class SchemaError(UsageError):
    """The target cannot be expressed, in general or in one dialect.

    Attributes:
        findings: Every place that cannot be expressed, as (pointer, sentence).
    """

    def __init__(
        self,
        message: str,
        *,
        pointer: str | None = None,
        findings: Sequence[tuple[str, str]] = (),
    ) -> None:
        super().__init__(message, pointer=pointer)
        self.findings = tuple(findings)


class UnsupportedError(UsageError):
    """This provider, dialect or strategy lacks what was asked; the message names what works."""


class MissingDependencyError(ExtractkitError, ImportError):
    """A feature needs a package that is not installed.

    Attributes:
        feature: What was asked for.
        package: The distribution that is missing.
        extra: The extra of this library that brings it, or None.
    """

    def __init__(
        self,
        message: str,
        *,
        feature: str | None = None,
        package: str | None = None,
        extra: str | None = None,
    ) -> None:
        super().__init__(message)
        self.feature = feature
        self.package = package
        self.extra = extra

    @classmethod
    def for_feature(cls, feature: str, *, package: str, extra: str) -> MissingDependencyError:
        """Return the error for `feature`, with the install line in its message.

        The line names no distribution: an index may have another one of the same name.
        """
        return cls(
            f"{feature} needs the package {package!r}, which is not installed; install this "
            f'library with its extra {extra!r}, in a checkout of it: pip install ".[{extra}]"',
            feature=feature,
            package=package,
            extra=extra,
        )


class ProviderError(ExtractkitError):
    """The model could not be asked, or what came back is not what its API promises.

    Attributes:
        provider: Who was asked, such as "local" or "openai".
        model: The model's name as the caller gave it.
        status_code: HTTP status, where there was one.
        request_id: The provider's id of the request, where it gave one.
        retry_after_s: Seconds that the provider asked to wait, where it did.
        attempts: How often the request was made.
        parameter: What the provider refuses about the request, as a field of ModelRequest or
            Sampling ("top_logprobs", "constraint", "temperature", ...), where it says so.
        retryable: Whether asking again can help.
    """

    retryable: bool = False

    def __init__(
        self,
        message: str,
        *,
        provider: str | None = None,
        model: str | None = None,
        status_code: int | None = None,
        request_id: str | None = None,
        retry_after_s: float | None = None,
        attempts: int = 1,
        parameter: str | None = None,
    ) -> None:
        super().__init__(message)
        self.provider = provider
        self.model = model
        self.status_code = status_code
        self.request_id = request_id
        self.retry_after_s = retry_after_s
        self.attempts = attempts
        self.parameter = parameter


class AuthenticationError(ProviderError):
    """The provider does not accept the key, or there is none."""


class PermissionDeniedError(ProviderError):
    """The key is valid and may not do this."""


class NotFoundError(ProviderError):
    """The provider has no such model, or the weights file is not there."""


class BadRequestError(ProviderError):
    """The provider refuses the request as written."""


class RateLimitError(ProviderError):
    """Too many requests for now."""

    retryable = True


class ServerError(ProviderError):
    """The provider failed on its own side."""

    retryable = True


class ConnectError(ProviderError):
    """The provider could not be reached, or the connection broke."""

    retryable = True


class RequestTimeoutError(ProviderError):
    """One request took longer than its share of the time budget."""

    retryable = True


class MalformedResponseError(ProviderError):
    """The reply is not what the API promises."""


class DeadlineExceededError(ExtractkitError):
    """The total time budget of a call ended.

    Attributes:
        timeout_s: The budget, in seconds.
        attempts: How many answers had been received by then.
    """

    def __init__(self, message: str, *, timeout_s: float | None = None, attempts: int = 0) -> None:
        super().__init__(message)
        self.timeout_s = timeout_s
        self.attempts = attempts


class ExtractionError(ExtractkitError):
    """There is no value to unwrap.

    Attributes:
        result: The whole ExtractionResult, with findings, partial answer and attempts.
    """

    def __init__(self, message: str, *, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class RefusedError(ExtractionError):
    """The model declined to answer."""


class TruncatedError(ExtractionError):
    """The answer was cut off by a limit before it was whole."""


class FilteredError(ExtractionError):
    """A content filter withheld the answer."""


class InvalidError(ExtractionError):
    """No answer reached the required validity level."""


class AbstainedError(ExtractionError):
    """There is a value, and no policy of the cascade keeps it."""


class NotConfirmedError(ExtractionError):
    """A dangerous tool was to be carried out, and nobody agreed; `result` is the ToolCall."""
