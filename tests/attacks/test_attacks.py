"""Each attack on each deployment must keep all limits. The delays are printed, in the table after the last test."""

import pytest

import tests.attacks.kinds  # noqa: F401 - registers the attacks
from tests.attacks.attack_run import Row, run_attack
from tests.attacks.deployment import DEPLOYMENTS, Deployment
from tests.attacks.registry import ATTACKS, Attack

pytestmark = pytest.mark.attacks

CASES = [
    pytest.param(name, attack, id=f"{name}-{attack.name}", marks=pytest.mark.xdist_group(name))
    for name in DEPLOYMENTS
    for attack in ATTACKS
    if name in attack.deployments
]


@pytest.mark.parametrize(("deployment", "attack"), CASES, indirect=["deployment"])
def test_attack(deployment: Deployment, attack: Attack, rows: list[Row]) -> None:
    row = run_attack(attack, deployment)
    rows.append(row)
    if row.broken:
        pytest.fail("\n".join(row.broken), pytrace=False)
