"""The names under which an engine keeps the results of calls. They are stored, so they must not change."""

from typing import Any

from stream_protocol.adk import CallReference, UsedCalls

OF_F = "tool/root/b/0/called/52a186b4abd27e4a"


Use = tuple[CallReference, dict[str, Any], bool]


def use(*, args: dict[str, Any] | None = None, confirmed: bool = False, **others: Any) -> Use:
    return CallReference(**{"id": "0", "name": "f", "author": "root", "branch": "b", **others}), args or {}, confirmed


def names(*uses: Use, **options: Any) -> list[str]:
    used = UsedCalls(**options)
    return [used.name(call, args, confirmed=confirmed) for call, args, confirmed in uses]


def test_equal_calls_under_an_id_are_told_apart_by_their_order() -> None:
    assert names(use(), use(), use(args={"x": 1}), use()) == [
        f"{OF_F}/1",
        f"{OF_F}/2",
        names(use(args={"x": 1}))[0],
        f"{OF_F}/3",
    ]


def test_a_call_of_another_speaker_tool_id_or_phase_is_another() -> None:
    others = [
        use(author="a"),
        use(branch=None),
        use(name="g"),
        use(id="1"),
        use(confirmed=True),
        use(args={"x": 1}),
    ]
    found = names(use(), *others)
    assert len({*found}) == len(found)
    assert all(name.endswith("/1") for name in found)


def test_the_order_of_arguments_makes_no_other_call() -> None:
    first, second = names(use(args={"a": 1, "b": 2}), use(args={"b": 2, "a": 1}))
    assert (first[:-1], first[-1], second[-1]) == (second[:-1], "1", "2")


def test_a_run_of_an_older_release_names_the_first_call_under_an_id_by_that_alone() -> None:
    assert names(use(), use(confirmed=True), use(), names_by_id=True) == [
        "tool/0/called",
        "tool/0/confirmed",
        f"{OF_F}/1",
    ]
