"""Exceptions travel between processes and know their place in the tree."""

from __future__ import annotations

import copy
import pickle

import pytest

from extractkit import errors
from extractkit.errors import ExtractkitError

_FACTS = {
    "pointer": "/items/0",
    "findings": (("/items/0", "cannot be expressed"),),
    "feature": "the embedded model",
    "package": "numpy",
    "extra": "local",
    "provider": "local",
    "model": "some-model",
    "status_code": 429,
    "request_id": "r-1",
    "retry_after_s": 1.5,
    "attempts": 3,
    "parameter": "temperature",
    "timeout_s": 2.0,
    "usage": {"input_tokens": 3},
    "result": {"status": "invalid"},
}


def _classes() -> list[type[ExtractkitError]]:
    return [getattr(errors, name) for name in errors.__all__]


@pytest.mark.parametrize("cls", _classes(), ids=lambda cls: cls.__name__)
def test_every_exception_pickles_and_copies_with_all_it_knows(cls: type[ExtractkitError]) -> None:
    """Errors pickle."""
    error = cls("what was found, what was expected, what to do")
    for name in vars(error):
        setattr(error, name, _FACTS[name])
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(twin) is cls
        assert twin.message == error.message
        assert vars(twin) == vars(error)


@pytest.mark.parametrize("cls", _classes(), ids=lambda cls: cls.__name__)
def test_every_exception_is_caught_by_its_root(cls: type[ExtractkitError]) -> None:
    """One tree."""
    assert issubclass(cls, ExtractkitError)


def test_the_tree_in_the_docstring_names_every_class() -> None:
    """The docstring is what people read; it may not fall behind."""
    missing = [name for name in errors.__all__ if name not in (errors.__doc__ or "")]
    assert missing == []
