"""Side effects as ``data-*`` parts."""

from typing import Any

import pytest
from google.adk.events import Event, EventActions
from google.adk.events.ui_widget import UiWidget

from tests.stream.building import call, event, fragment, response, results, text
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


def test_an_artifact_without_content_comes_after_its_authors_content_but_before_another_authors() -> None:
    saving = event(author="line", actions=EventActions(artifact_delta={"a.txt": 0}))

    def shown_before(author: str) -> list[str]:
        kinds = [chunk["type"] for chunk in body([saving, event(text("Hi"), author=author)])]
        return kinds[: kinds.index("data-adk-artifact")]

    assert "text-delta" in shown_before("line")
    assert shown_before("speaker") == []


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


# Posted while a tool runs


def posted(actions: EventActions) -> Event:
    return fragment(actions=actions, custom_metadata={"adk_ui_stream_posted": "widgets"})


def own_widget(data: Any, widget_id: str = "w", **more: Any) -> UiWidget:
    return UiWidget(id=widget_id, provider="adk_ui_stream", payload={"name": "note", "data": data, **more})


def showing(*widgets: UiWidget) -> EventActions:
    return EventActions(render_ui_widgets=[*widgets])


def data_of(*events: Event) -> list[Any]:
    return [chunk["data"] for chunk in only(body(events), "data-")]


def test_what_was_posted_is_not_written_again_with_its_event() -> None:
    assert data_of(posted(showing(own_widget(1))), event(actions=showing(own_widget(1)))) == [1]
    assert data_of(posted(showing(own_widget(1))), event(actions=showing(own_widget(2)))) == [1, 2]
    assert data_of(posted(showing(own_widget(1))), event(actions=showing(own_widget(1, "v")))) == [1, 1]


def test_only_one_event_repeats_what_was_posted() -> None:
    again = event(actions=showing(own_widget(1)))
    assert data_of(posted(showing(own_widget(1))), again, again) == [1, 1]


def test_of_several_widgets_with_the_posted_id_the_last_one_counts() -> None:
    stored = event(actions=showing(own_widget(1), own_widget(2)))
    assert data_of(posted(showing(own_widget(2))), stored) == [2]
    assert data_of(posted(showing(own_widget(1))), stored) == [1, 2]


def test_a_transient_part_is_not_taken_for_the_stored_one() -> None:
    assert data_of(posted(showing(own_widget(1, transient=True))), event(actions=showing(own_widget(1)))) == [1, 1]


def test_a_posted_event_ends_no_text_and_is_no_speech() -> None:
    chunks = run([fragment(text("Hel")), posted(showing(own_widget(1))), fragment(text("lo")), event(text("Hello"))])
    assert [chunk["type"] for chunk in chunks].count("text-start") == 1
    assert [chunk["delta"] for chunk in chunks if chunk["type"] == "text-delta"] == ["Hel", "lo"]


def progress(call_id: Any, data: Any) -> EventActions:
    payload = {"name": "adk-progress", "id": call_id, "data": data}
    return showing(UiWidget(id=f"adk-progress:{call_id}", provider="adk_ui_stream", payload=payload))


def test_progress_is_that_of_a_call_under_the_clients_id() -> None:
    events = [
        event(call("work", {}, "c")),
        posted(progress("c", {"progress": 1})),
        results(response("work", {"result": "done"}, "c"), actions=progress("c", {"progress": 2})),
    ]
    taken = only(body(events, taken_ids=["c"]), "data-")
    assert [(chunk["id"], chunk["data"]) for chunk in taken] == [
        ("c.2", {"toolCallId": "c.2", "progress": 1}),
        ("c.2", {"toolCallId": "c.2", "progress": 2}),
    ]


@pytest.mark.parametrize(("call_id", "data"), [("other", {"progress": 1}), (None, {"progress": 1}), ("c", 1)])
def test_progress_of_no_call_is_left_out(call_id: Any, data: Any) -> None:
    assert data_of(event(call("work", {}, "c")), posted(progress(call_id, data))) == []


def test_progress_that_came_before_its_call_comes_with_the_event() -> None:
    done = results(response("work", {"result": "done"}, "c"), actions=progress("c", {"progress": 1}))
    assert data_of(posted(progress("c", {"progress": 1})), event(call("work", {}, "c")), done) == [
        {"toolCallId": "c", "progress": 1}
    ]
