"""Settings of Hypothesis for all property tests."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

from tests.examples import IN_A_HUNT, IN_EACH_RUN


def load_profile(*, is_hunt: bool) -> None:
    """Load the profile. ``is_hunt``: new random examples, else the same examples in each run.

    Examples have no deadline, since no test asserts a time.
    """
    settings.register_profile(
        "project",
        database=None,
        deadline=None,
        derandomize=not is_hunt,
        max_examples=IN_A_HUNT if is_hunt else IN_EACH_RUN,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("project")
    _ignore_constants_of_modules()


def _ignore_constants_of_modules() -> None:
    """Stop Hypothesis from drawing constants of imported modules. They depend on the tests that ran before."""
    pytest.MonkeyPatch().setattr(providers, "_get_local_constants", Constants)
