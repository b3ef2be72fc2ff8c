"""Side effects as ``data-*`` parts."""

from typing import Any

import pytest
from google.adk.events import EventActions
from google.adk.events.ui_widget import UiWidget

from tests.stream.building import event, fragment, text
from tests.stream.running import body, message_of, only, run


class Hopeless:
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(name)


def told(actions: EventActions, **options: Any) -> list[dict[str, Any]]:
    return only(body([event(actions=actions)], **options), "data-")


def test_an_artifact_is_its_name_and_version_and_a_new_version_replaces_it() -> None:
    chunks = told(EventActions(artifact_delta={"a.txt": 1, "b.txt": 0}))
    assert chunks == [
        {"type": "data-adk-artifact", "data": {"filename": "a.txt", "version": 1}, "id": "a.txt"},
        {"type": "data-adk-artifact", "data": {"filename": "b.txt", "version": 0}, "id": "b.txt"},
    ]
    saved = [event(actions=EventActions(artifact_delta={"a.txt": version})) for version in (0, 1)]
    parts: list[Any] = list(message_of(run(saved))["parts"])
    assert [part["data"]["version"] for part in parts if "data" in part] == [1]


def test_state_is_sent_only_if_it_is_asked_for() -> None:
    actions = EventActions(state_delta={"a": 1})
    assert told(actions) == []
    assert told(actions, send_state=True) == [{"type": "data-adk-state", "data": {"a": 1}}]


def test_state_that_is_adks_own_or_temporary_is_never_sent() -> None:
    delta = {"temp:a": 1, "_adk_b": 2, "_code_execution_context": 3, "adk_oauth_credential:i": 4}
    assert told(EventActions(state_delta=delta), send_state=True) == []
    assert told(EventActions(state_delta={**delta, "user:c": {4}}), send_state=True)[0]["data"] == {"user:c": [4]}


def widget(payload: dict[str, Any], provider: str = "adk_ui_stream") -> EventActions:
    return EventActions(render_ui_widgets=[UiWidget(id="w", provider=provider, payload=payload)])


def test_a_widget_is_data_that_its_id_replaces() -> None:
    assert told(widget({"url": "x", "n": float("nan")}, "mcp")) == [
        {
            "type": "data-adk-ui-widget",
            "id": "w",
            "data": {"id": "w", "provider": "mcp", "payload": {"url": "x", "n": None}},
        }
    ]


@pytest.mark.parametrize(("own_id", "sent"), [("rome", {"id": "rome"}), (None, {}), (3, {})])
def test_an_apps_own_data_is_a_part_of_its_name(own_id: Any, sent: dict[str, str]) -> None:
    payload = {"name": "weather", "data": {"celsius": 21, "at": {1}}, "id": own_id}
    assert told(widget(payload)) == [{"type": "data-weather", "data": {"celsius": 21, "at": [1]}, **sent}]


@pytest.mark.parametrize("payload", [{"name": "weather"}, {"name": 3, "data": 1}, {"data": 1}])
def test_a_widget_of_ours_without_name_or_data_is_a_widget(payload: dict[str, Any]) -> None:
    assert [chunk["type"] for chunk in told(widget(payload))] == ["data-adk-ui-widget"]


def test_somebody_elses_widget_with_a_name_and_data_is_a_widget() -> None:
    assert [chunk["type"] for chunk in told(widget({"name": "weather", "data": 1}, "mcp"))] == ["data-adk-ui-widget"]


def test_what_a_fragment_says_it_did_is_left_to_the_complete_event() -> None:
    actions = EventActions(artifact_delta={"a.txt": 1}, state_delta={"a": 1})
    streamed = fragment(text("x"), actions=actions)
    assert only(body([streamed], send_state=True), "data-") == []
    assert len(only(body([streamed, event(text("x"), actions=actions)], send_state=True), "data-")) == 2


def test_data_without_a_json_form_is_null() -> None:
    assert told(widget({"name": "weather", "data": Hopeless()})) == [{"type": "data-weather", "data": None}]
    hopeless = event(author="wf").model_copy(update={"output": Hopeless()})
    assert only(body([hopeless]), "data-") == [{"type": "data-adk-output", "data": {"author": "wf", "output": None}}]


def test_data_stands_beside_what_the_event_says() -> None:
    chunks = body([event(text("Saved."), actions=EventActions(artifact_delta={"a.txt": 1}))])
    assert [chunk["type"] for chunk in chunks if chunk["type"].startswith(("data-", "text-delta"))] == [
        *("text-delta", "data-adk-artifact")
    ]
