"""bench/reports/attacks.md has the results of `make suite NAME=attacks`."""

from tests.attacks import kinds
from tests.attacks.registry import ATTACKS
from tests.attacks.table import HEAD, keys
from tests.processes import ROOT


def test_the_table_has_the_rows_of_the_attacks() -> None:
    _, head, below = (ROOT / "bench" / "reports" / "attacks.md").read_text().partition(f"{HEAD}\n")
    assert head, "`make suite NAME=attacks` prints the table"
    lines = below.partition("\n\n")[0].splitlines()
    assert [tuple(cell.strip() for cell in line.split("|")[1:3]) for line in lines] == keys()


def test_each_kind_of_attack_is_there() -> None:
    assert {attack.kind for attack in ATTACKS} == set(kinds.__all__)
