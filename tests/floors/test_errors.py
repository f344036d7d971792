"""The tree of exceptions."""

from __future__ import annotations

from extractkit import errors


def _classes() -> list[type[errors.ExtractkitError]]:
    return [getattr(errors, name) for name in errors.__all__]


def test_a_usage_error_is_a_value_error_and_a_missing_package_an_import_error() -> None:
    assert issubclass(errors.SchemaError, ValueError)
    assert issubclass(errors.MissingDependencyError, ImportError)


def test_only_what_can_pass_is_retryable() -> None:
    retryable = {cls.__name__ for cls in _classes() if getattr(cls, "retryable", False)}
    assert retryable == {"RateLimitError", "ServerError", "ConnectError", "RequestTimeoutError"}


def test_a_missing_package_names_the_install_line() -> None:
    error = errors.MissingDependencyError.for_feature(
        "the local model", package="numpy", extra="local"
    )
    assert 'pip install ".[local]"' in error.message
    assert (error.package, error.extra) == ("numpy", "local")
