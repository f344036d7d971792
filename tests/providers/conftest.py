"""The stage on which every ending is acted out, its table, and a server for all else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.providers.network import Site
from tests.providers.stage import Cell, Place, Stage, table

_CELLS = pytest.StashKey[Mapping[Place, Cell]]()


@pytest.fixture(scope="session")
def stage(pytestconfig: pytest.Config) -> Iterator[Stage]:
    """One server, one provider per API and mode, and every cell that was acted out."""
    with Stage() as running:
        pytestconfig.stash[_CELLS] = running.cells
        yield running


@pytest.fixture(scope="module")
def _site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def server(_site: Site) -> Iterator[Site]:
    """The scripted server of a module and the providers that ask it."""
    _site.play()
    yield _site
    _site.settle()


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table, if a test asked for it."""
    cells = config.stash.get(_CELLS, None)
    if cells:
        terminalreporter.section("ending x path -> status (requests, if more than one)")
        for line in table(cells):
            terminalreporter.write_line(line)
