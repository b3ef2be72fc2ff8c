from typing import Any

import pytest

from stream_protocol import StreamProtocolConverter, StreamProtocolError
from stream_protocol.stream import ConverterOptions, RunLimitError, Settings, options_from_json, options_to_json
from tests.stream.building import call, event, response, results, thought
from tests.stream.running import inputs, run


def test_every_option_has_a_default() -> None:
    settings = Settings()
    options = settings.options
    assert set(ConverterOptions.__annotations__) == set(options)
    assert [options[name] for name in ("ai_sdk", "send_reasoning", "send_sources", "send_state")] == [
        *(6, True, True, False)
    ]
    assert options["on_error"](RuntimeError("secret")) == "An error occurred."
    assert options["on_error"](RunLimitError("It was too long.")) == "It was too long."
    assert options["message_metadata"]({"a": 1}) == {"a": 1}


def test_the_options_that_are_data_can_be_recorded() -> None:
    data: ConverterOptions = {
        "ai_sdk": 7,
        "send_state": True,
        "hidden_tools": "all",
        "dynamic_tools": ["a", "b"],
        "tool_titles": {"a": "A"},
    }
    functions: ConverterOptions = {"on_error": str, "artifact_url": lambda name, version: name, "transform": None}
    assert options_to_json({**data, **functions, "tool_schemas": {}}) == data
    assert options_from_json({**data, "later": 1, "send_reasoning": "no", "transform": {}}) == data
    assert options_to_json({"hidden_tools": {"b", "a"}}) == {"hidden_tools": ["a", "b"]}


@pytest.mark.parametrize("version", [5, 8, None, "6"])
def test_only_two_versions_of_the_client_are_known(version: Any) -> None:
    with pytest.raises(StreamProtocolError, match=r"^`ai_sdk` must be 6, 7, or a full version "):
        Settings(ai_sdk=version)


@pytest.mark.parametrize("option", ["hidden_tools", "dynamic_tools"])
def test_one_name_is_no_collection_of_names(option: str) -> None:
    options: Any = {option: "pay"}
    with pytest.raises(
        StreamProtocolError, match=f'`{option}` must be a list of names, a function of a name, or "all", not "pay"'
    ):
        Settings(**options)


def test_an_unknown_option_is_refused() -> None:
    unknown: Any = {"send_everything": True}
    with pytest.raises(TypeError, match="send_everything"):
        StreamProtocolConverter(**unknown)


@pytest.mark.parametrize(
    ("selection", "selected"),
    [
        pytest.param((), [], id="none"),
        pytest.param(["a"], ["a"], id="a list"),
        pytest.param({"a", "c"}, ["a"], id="a set"),
        pytest.param({"b": "title"}, ["b"], id="a mapping"),
        pytest.param(lambda name: name > "a", ["b"], id="a predicate"),
        pytest.param("all", ["a", "b"], id="all"),
    ],
)
def test_tools_are_selected_by_name_by_a_predicate_or_all(selection: Any, selected: list[str]) -> None:
    calls = [event(call("a", {}, "a"), call("b", {}, "b")), results(response("a", {}, "a"), response("b", {}, "b"))]
    assert list(inputs(run(calls, hidden_tools=selection))) == [name for name in ("a", "b") if name not in selected]
    dynamic = {
        chunk["toolName"] for chunk in run(calls, dynamic_tools=selection) if chunk.get("dynamic") and "input" in chunk
    }
    assert sorted(dynamic) == selected


def test_whatever_a_selection_returns_is_true_or_false_for_the_page() -> None:
    selection: Any = str  # a predicate that returns the tool's name
    chunks: list[Any] = run([event(call("f", {}, "A"))], dynamic_tools=selection)
    assert [chunk["dynamic"] for chunk in chunks if "dynamic" in chunk] == [True, True, True]


def test_adks_control_tools_are_hidden_whatever_is_selected() -> None:
    assert Settings(hidden_tools=lambda name: False).hides("exit_loop")
    assert not Settings().hides("pay")


def test_reasoning_is_sent_unless_it_is_turned_off() -> None:
    assert len(run([event(thought("Hm."))])) == len(run([event(thought("Hm."))], send_reasoning=False)) + 5


def test_a_title_is_text() -> None:
    titles: Any = {"pay": 5}
    with pytest.raises(
        StreamProtocolError, match="`tool_titles` must be a dictionary of texts, and 5 in it is not text"
    ):
        Settings(tool_titles=titles)
