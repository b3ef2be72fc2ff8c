"""Spans, metrics and log lines of chats of all kinds: see ``observed``."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.processes import ROOT
from tests.serving.telemetry.observed import CALLER_SPAN, CALLER_TRACE, SECRET, Observed, observe

RUN = "chat run"


@pytest.fixture(scope="module")
def observed() -> Observed:
    return observe()


def test_a_request_is_a_span_below_that_of_its_caller(observed: Observed) -> None:
    request = observed.span("POST /api/chat", trace=CALLER_TRACE)
    assert (request["kind"], request["parent"], request["status"]) == ("SERVER", CALLER_SPAN, ("UNSET", None))
    assert (request["http_route"], request["http_response_status_code"]) == ("/api/chat", 200)


def test_a_run_is_below_its_request_and_adks_spans_are_below_the_run(observed: Observed) -> None:
    run = observed.span(RUN, gen_ai_conversation_id="plain")
    assert run["parent"] == observed.span("POST /api/chat", trace=CALLER_TRACE)["id"]
    below = [span for span in observed.spans if span["trace"] == CALLER_TRACE]
    (invocation,) = [span for span in below if span["parent"] == run["id"]]
    parents = {span["id"]: span["parent"] for span in below}
    (model,) = [span for span in below if span["name"].startswith("generate_content")]
    above = [parent := model["parent"]]
    while (parent := parents.get(parent)) is not None:
        above.append(parent)
    assert invocation["id"] in above
    assert above[-2:] == [parents[run["id"]], CALLER_SPAN]


def test_a_run_says_whose_it_was_and_how_it_ended(observed: Observed) -> None:
    ended = {
        chat: (run["adk_ui_stream_outcome"], run.get("error_type"), run["status"])
        for chat in ("plain", "stopped", "broken", "lost")
        if (run := observed.span(RUN, gen_ai_conversation_id=chat, user_id="local", gen_ai_agent_name="guide"))
    }
    assert ended == {
        "plain": ("finish", None, ("UNSET", None)),
        "stopped": ("abort", None, ("UNSET", None)),
        "broken": ("error", "ValueError", ("ERROR", None)),
        "lost": ("error", "LeaseLostError", ("ERROR", None)),
    }


def test_a_page_that_comes_back_is_linked_to_the_run(observed: Observed) -> None:
    run = observed.span(RUN, gen_ai_conversation_id="long")
    resume = observed.span("chat resume", gen_ai_conversation_id="long")
    assert (resume["links"], resume["adk_ui_stream_run_id"]) == ([run["id"]], run["adk_ui_stream_run_id"])
    request = observed.span("GET /api/chat/{chat_id}/stream")
    assert (resume["parent"], request["gen_ai_conversation_id"]) == (request["id"], "long")


def test_a_request_has_no_second_span_where_the_app_has_one(observed: Observed) -> None:
    own, run = observed.span("the app's own"), observed.span(RUN, gen_ai_conversation_id="instrumented")
    assert run["parent"] == own["id"]
    assert [span["name"] for span in observed.spans if span["parent"] == own["id"]] == [RUN]


def test_a_run_is_below_the_view_of_a_framework_without_an_event_loop(observed: Observed) -> None:
    run = observed.span(RUN, gen_ai_conversation_id="view", user_id="ann")
    assert run["parent"] == observed.span("a view")["id"]


def test_our_spans_hold_no_word_of_a_chat(observed: Observed) -> None:
    ours = [span for span in observed.spans if span["name"].startswith(("chat ", "GET ", "POST "))]
    assert len(ours) > 20
    assert SECRET not in json.dumps(ours)
    assert not any(span["events"] for span in ours)


def test_what_goes_on_is_counted_up_and_down(observed: Observed) -> None:
    names = {sample.name for sample in observed.samples}
    assert {"adk_ui_stream_active_runs", "adk_ui_stream_active_readers"} <= names
    assert observed.number("adk_ui_stream_active_runs") == observed.number("adk_ui_stream_active_readers") == 0


def test_runs_are_counted_by_outcome(observed: Observed) -> None:
    count = "adk_ui_stream_run_duration_seconds_count"
    # plain, tools, long, the second words of the interrupted chat, recovered, instrumented, view
    assert observed.number(count, adk_ui_stream_outcome="finish") == 7
    assert observed.number(count, adk_ui_stream_outcome="left") == 4
    assert observed.number(count, adk_ui_stream_outcome="abort") == 2
    failed = {kind: observed.number(count, adk_ui_stream_outcome="error", error_type=kind) for kind in FAILURES}
    assert failed == {"ValueError": 1, "RuntimeError": 1, "LeaseLostError": 1, "RunLimitError": 1}


FAILURES = ("ValueError", "RuntimeError", "LeaseLostError", "RunLimitError")


def test_what_runs_do_is_counted(observed: Observed) -> None:
    runs = [span for span in observed.spans if span["name"] == RUN]
    assert observed.number("adk_ui_stream_chunks_total") == sum(run["adk_ui_stream_chunks"] for run in runs) > 50
    assert observed.number("adk_ui_stream_tool_calls_total") == 3
    assert observed.number("adk_ui_stream_resumes_total") == 1
    assert observed.number("adk_ui_stream_interrupts_total") == 1
    assert observed.number("adk_ui_stream_lease_losses_total") == 1
    assert observed.number("adk_ui_stream_cut_readers_total", adk_ui_stream_reason="too_many") == 1
    assert (
        observed.number("adk_ui_stream_run_time_to_first_chunk_seconds_count") == len(runs) - 1
    )  # except for the abandoned run
    assert observed.number("adk_ui_stream_event_loop_lag_seconds_count") > 0


def test_a_run_that_is_recovered_can_be_followed(observed: Observed) -> None:
    first, second = [
        span for span in observed.spans if span["name"] == RUN and span["gen_ai_conversation_id"] == "recovered"
    ]
    assert second["links"] == [first["id"]]
    assert second["adk_ui_stream_run_first_id"] == first["adk_ui_stream_run_id"]
    text = f"Run {first['adk_ui_stream_run_id']} of chat recovered is recovered."
    (line,) = observed.records(severity="INFO", message=text)
    assert line["run_id"] == second["adk_ui_stream_run_id"]
    assert observed.number("adk_ui_stream_recoveries_total") == 3


def test_a_run_that_is_given_up_is_counted_and_logged(observed: Observed) -> None:
    runs = [span for span in observed.spans if span["name"] == RUN and span["gen_ai_conversation_id"] == "given-up"]
    assert [run["links"] for run in runs] == [[], *3 * [[runs[0]["id"]]]]
    first = f"Run {runs[0]['adk_ui_stream_run_id']} of chat given-up"
    text = f"{first} is given up: 3 workers have crashed while they executed it."
    assert len(observed.records(severity="ERROR", message=text)) == 1
    count = "adk_ui_stream_failed_recoveries_total"
    assert observed.number(count, adk_ui_stream_reason="crashes") == observed.number(count) == 1


def test_each_run_has_a_line_where_it_began(observed: Observed) -> None:
    began = [line["run_id"] for line in observed.records(severity="INFO", message="A run has begun.")]
    runs = [span["adk_ui_stream_run_id"] for span in observed.spans if span["name"] == RUN]
    assert sorted(began) == sorted(runs)


def test_refusals_are_counted_by_reason(observed: Observed) -> None:
    once = ("not_found", "foreign_host", "bad_http", "slow_request")
    reasons = {"invalid": 3, "request_rate": 2, **dict.fromkeys(once, 1)}
    assert {
        reason: observed.number("adk_ui_stream_refusals_total", adk_ui_stream_reason=reason) for reason in reasons
    } == reasons


def test_requests_are_counted_by_route_and_status_and_probes_are_not(observed: Observed) -> None:
    count = "http_server_request_duration_seconds_count"
    assert observed.number(count, http_route="/api/chats", http_response_status_code="429") == 1
    assert observed.number(count, http_route="/api/chat/{chat_id}/stream", http_request_method="GET") == 1
    assert observed.number(count, http_route="/healthz") == 0


def test_no_label_says_whose_chat_it_was(observed: Observed) -> None:
    names = {label for sample in observed.samples for label in sample.labels}
    assert not [name for name in names if "user" in name or "conversation" in name or "run_id" in name]


def test_no_line_of_the_log_has_a_word_of_a_chat(observed: Observed) -> None:
    assert [line for line in observed.log if SECRET in line] == []
    assert len(observed.records(severity="DEBUG")) > 50  # including records of ADK and asyncio


def test_each_line_of_a_run_has_its_ids_also_those_of_adk(observed: Observed) -> None:
    run = observed.span(RUN, gen_ai_conversation_id="tools")
    ids = {"chat_id": "tools", "run_id": run["adk_ui_stream_run_id"], "user_id": "local", "trace_id": run["trace"]}
    loggers = {record["logger"].partition(".")[0] for record in observed.records(**ids)}
    assert {"google_adk", "my_app", "whole_app", "stream_protocol"} <= loggers


def test_a_run_that_ends_is_a_line(observed: Observed) -> None:
    (line,) = observed.records(chat_id="tools", outcome="finish")
    run = observed.span(RUN, gen_ai_conversation_id="tools")
    assert (line["severity"], line["chunks"], line["span_id"]) == ("INFO", run["adk_ui_stream_chunks"], run["id"])
    assert line["seconds"] >= line["seconds_to_first_chunk"] > 0


def test_of_other_code_the_log_has_what_stands_in_it(observed: Observed) -> None:
    first, second, *_ = [record["message"] for record in observed.records(logger="my_app")]
    assert first == "somebody asks for … (…%)"
    assert second.startswith("… (observed.weather, line ")


def test_a_logger_that_is_named_has_all_that_it_says(observed: Observed) -> None:
    said = {record["message"] for record in observed.records(logger="whole_app.tools")}
    assert said == {"somebody asks for a city of 7"}


def test_a_failure_is_told_by_its_class_and_place(observed: Observed) -> None:
    (line,) = observed.records(chat_id="broken", severity="ERROR")
    assert line["message"].startswith("The tool broken raised ValueError (observed.py, line ")
    assert line["error_type"] == "ValueError"
    assert line["stack"][-1].endswith(" broken")
    (line,) = observed.records(chat_id="failing", severity="ERROR")
    assert line["message"] == "The model scripted raised RuntimeError."


def test_what_asyncio_says_of_a_lost_error_is_told_without_it(observed: Observed) -> None:
    (line,) = observed.records(logger="asyncio", severity="ERROR")
    assert line["error_type"] == "LookupError"
    assert line["message"].startswith("… (base_events.default_exception_handler, line ")


DASHBOARD = ROOT / "examples/operations/grafana-dashboard.json"
TABLE = ROOT / "docs/monitoring.md"
OURS = ("adk_ui_stream_", "http_server_")


def panels() -> Iterator[dict[str, Any]]:
    """Return the panels of the dashboard that show metrics."""
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        if panel["type"] != "row":
            yield panel


def names_in(expression: str) -> set[str]:
    """Return the metrics that a PromQL query reads: all names before a selector."""
    return set(re.findall(r"([a-z_:]+)\{", re.sub(r'"[^"]*"', '""', expression)))


def queried() -> set[str]:
    return {name for panel in panels() for target in panel["targets"] for name in names_in(target["expr"])}


def test_the_dashboard_reads_metrics_that_there_are(observed: Observed) -> None:
    assert queried() - {sample.name for sample in observed.samples} == set()


def test_the_dashboard_groups_by_labels_that_its_metrics_have(observed: Observed) -> None:
    unknown: list[tuple[str, str]] = []
    for panel in panels():
        for target in panel["targets"]:
            names = names_in(target["expr"])
            labels = {label for sample in observed.samples if sample.name in names for label in sample.labels}
            asked = set(re.findall(r"[a-z_]+", " ".join(re.findall(r"by \(([^)]*)\)", target["expr"]))))
            asked |= set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            unknown += [(panel["title"], label) for label in asked - labels - {"instance", "job"}]
    assert unknown == []


def test_each_of_our_metrics_is_on_the_dashboard(observed: Observed) -> None:
    shown = {re.sub(r"_(bucket|count|sum)$", "", name) for name in queried()}
    ours = {re.sub(r"_(bucket|count|sum|created)$", "", sample.name) for sample in observed.samples}
    assert {name for name in ours if name.startswith(OURS)} - shown == set()


def test_no_panel_hides_another() -> None:
    places = [
        (x, y)
        for panel in json.loads(DASHBOARD.read_text())["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(places) == len(set(places))
    assert max(x for x, _ in places) < 24


def documented() -> dict[str, str]:
    """Return the metrics in the table of the docs: name in OpenTelemetry -> name in Prometheus."""
    return dict(re.findall(r"^\| `([a-z_.]+)`<br>`([a-z_]+)` \|", TABLE.read_text(), re.MULTILINE))


def test_each_of_our_metrics_is_documented_by_both_names(observed: Observed) -> None:
    ours = {re.sub(r"_(bucket|count|sum|created)$", "", sample.name) for sample in observed.samples}
    assert set(documented().values()) == {name for name in ours if name.startswith(OURS)}
    for name, prometheus in documented().items():
        assert prometheus.startswith(name.replace(".", "_"))
