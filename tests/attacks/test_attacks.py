"""Each attack on each house: what must hold. The delays are printed, in the table after the last test."""

import pytest

import tests.attacks.kinds  # noqa: F401 - registers the attacks
from tests.attacks.house import HOUSES, House
from tests.attacks.registry import ATTACKS, Attack
from tests.attacks.stage import Row, play

pytestmark = pytest.mark.attacks

CASES = [
    pytest.param(name, attack, id=f"{name}-{attack.name}", marks=pytest.mark.xdist_group(name))
    for name in HOUSES
    for attack in ATTACKS
    if name in attack.houses
]


@pytest.mark.parametrize(("house", "attack"), CASES, indirect=["house"])
def test_attack(house: House, attack: Attack, rows: list[Row]) -> None:
    row = play(attack, house)
    rows.append(row)
    if row.broken:
        pytest.fail("\n".join(row.broken), pytrace=False)
