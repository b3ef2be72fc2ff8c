"""docs/frontends.md agrees with the tests of the frontends."""

from itertools import product

from tests.frontends.actions import ACTIONS
from tests.frontends.matrix import COLUMNS, cells, table
from tests.processes import ROOT


def test_the_matrix_is_that_of_the_tests() -> None:
    page = (ROOT / "docs" / "frontends.md").read_text()
    assert page.endswith(f"\n\n{table()}\n"), "`python -m tests.frontends.matrix` prints what the page should end with"


def test_each_cell_is_tested_or_says_why_it_cannot_be() -> None:
    known = {(cell.frontend, cell.ai, cell.action): cell for cell in cells()}
    assert set(known) == set(product(COLUMNS, (6, 7), ACTIONS))
    assert all(bool(cell.tests) != bool(cell.reason) for cell in known.values())


def test_each_pair_is_tested_that_can_be() -> None:
    tested = [cell for cell in cells() if cell.tests]
    impossible = {(cell.frontend, cell.action) for cell in cells() if cell.reason}
    assert {(cell.frontend, cell.action) for cell in tested} == set(product(COLUMNS, ACTIONS)) - impossible
    assert {(cell.ai, cell.action) for cell in tested} == set(product((6, 7), ACTIONS))
    assert {(cell.frontend, cell.ai) for cell in tested} == set(product(COLUMNS, (6, 7)))
