"""Decorator for tests with many cheap cases. A separate test for each case would cost more than the case."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from itertools import product
from typing import Any, TypeAlias

import pytest

Test: TypeAlias = Callable[..., Any]
Values: TypeAlias = Mapping[str, Any] | Iterable[Any]
Case: TypeAlias = dict[str, Any]


def batch(**values: Values | Callable[[], Values]) -> Callable[[Test], Test]:
    """Run the test for all combinations of values, as ``parametrize``, in one test. A failure names its values.

    The values of an argument may be a mapping: its keys are the names of the values. They may also be a function, which
    is called when the test runs. Other fixtures are created once, for all cases.
    """

    def decorate(judge: Test) -> Test:
        @wraps(judge)
        def judge_all(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
            for names, case in _cases(values):
                with _reporting_failure(subtests, names):
                    judge(**case, **fixtures)

        @wraps(judge)
        async def judge_all_in_a_loop(*, subtests: pytest.Subtests, **fixtures: Any) -> None:
            for names, case in _cases(values):
                with _reporting_failure(subtests, names):
                    await judge(**case, **fixtures)

        whole: Any = judge_all_in_a_loop if inspect.iscoroutinefunction(judge) else judge_all
        whole.__signature__ = _with_subtests(inspect.signature(judge), without=values)
        test: Test = whole
        return test

    return decorate


@contextmanager
def _reporting_failure(subtests: pytest.Subtests, names: Case) -> Iterator[None]:
    """Report an exception as a failed subtest with these names. Passed cases are not reported, which saves time."""
    try:
        yield
    except BaseException:
        with subtests.test(**names):
            raise


def _cases(values: Mapping[str, Values | Callable[[], Values]]) -> Iterator[tuple[Case, Case]]:
    """Yield each case as the names of its values, and as the values."""
    named = [_named(some() if callable(some) else some) for some in values.values()]
    assert all(named), "there is nothing to judge"
    for case in product(*(some.items() for some in named)):
        names, chosen = zip(*case, strict=True)
        yield dict(zip(values, names, strict=True)), dict(zip(values, chosen, strict=True))


def _named(values: Values) -> Mapping[Any, Any]:
    if isinstance(values, Mapping):
        return values
    return {value if isinstance(value, str | int) else repr(value): value for value in values}


def _with_subtests(signature: inspect.Signature, *, without: Iterable[str]) -> inspect.Signature:
    asked = [parameter for name, parameter in signature.parameters.items() if name not in {*without}]
    return signature.replace(parameters=[*asked, inspect.Parameter("subtests", inspect.Parameter.KEYWORD_ONLY)])
