"""The simulation finds code that is broken on purpose."""

import pytest

from tests.simulation.execution import simulate
from tests.simulation.model import broken
from tests.simulation.mutants import MUTANTS, Mutant, applied
from tests.simulation.schedule import drawn

pytestmark = pytest.mark.simulate


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.what)
def test_a_mutant_is_found(mutant: Mutant) -> None:
    with applied(mutant):
        assert mutant.promise in dict(broken(simulate(drawn(mutant.seed))))


def test_the_same_schedules_keep_all_promises_without_the_mutants() -> None:
    assert [how for mutant in MUTANTS for how in broken(simulate(drawn(mutant.seed)))] == []
