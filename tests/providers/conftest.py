"""The stage on which every ending is acted out, and its table at the end of the run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from tests.providers.stage import Cell, Place, Stage, table

_CELLS = pytest.StashKey[Mapping[Place, Cell]]()


@pytest.fixture(scope="session")
def stage(pytestconfig: pytest.Config) -> Iterator[Stage]:
    """One server, one provider per API and mode, and every cell that was acted out."""
    with Stage() as running:
        pytestconfig.stash[_CELLS] = running.cells
        yield running


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the table, if a test asked for it."""
    cells = config.stash.get(_CELLS, None)
    if cells:
        terminalreporter.section("ending x path -> status (requests, if more than one)")
        for line in table(cells):
            terminalreporter.write_line(line)
