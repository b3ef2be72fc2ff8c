import pytest
from google.adk.events import Event
from google.genai.types import GenerateContentResponseUsageMetadata, Part

from tests.batch import batch
from tests.stream.building import call, code, event, fragment, picture, ran, text, thought, user
from tests.stream.running import body, kinds, only, run, texts

CODE, RESULT = code(), ran("2")


def test_text_is_one_part_of_deltas_in_one_step() -> None:
    chunks = run([fragment(text("Hel")), fragment(text("lo")), event(text("Hello"))], message_id="m")
    speaker = {"adk": {"author": "agent"}}
    assert chunks == [
        {"type": "start", "messageId": "m"},
        {"type": "start-step"},
        {"type": "text-start", "id": "0", "providerMetadata": speaker},
        {"type": "text-delta", "id": "0", "delta": "Hello"},
        {"type": "text-end", "id": "0"},
        {"type": "finish-step"},
        {"type": "finish", "finishReason": "stop"},
    ]


def test_final_aggregate_does_not_repeat_text() -> None:
    assert texts(run([fragment(text("Hel")), fragment(text("lo")), event(text("Hello"), text(""))])) == ["Hello"]


def test_multi_part_final_keeps_order_around_code_execution() -> None:
    chunks = body([event(text("Let me compute."), CODE, RESULT, text("It is 2."))])
    assert kinds(only(chunks, "text-start", "tool-input-available", "tool-output")) == [
        "text-start",
        "tool-input-available",
        "tool-output-available",
        "text-start",
    ]
    assert texts(chunks) == ["Let me compute.", "It is 2."]


def test_thought_repeated_in_final_is_not_text() -> None:
    chunks = run([fragment(thought("Hm.")), fragment(text("Yes.")), event(thought("Hm."), text("Yes."))])
    assert texts(chunks) == ["Yes."]
    assert texts(chunks, "reasoning") == ["Hm."]


STREAMED = [fragment(text("Hel")), fragment(text("lo"))]
ENDED = [*STREAMED, fragment(text(""), finish_reason="STOP")]
TWO_KINDS = [fragment(thought("Hm")), fragment(text("Hel"))]


@pytest.mark.parametrize(
    ("events", "shown", "reasoned"),
    [
        pytest.param([event(text("Hello"))], ["Hello"], [], id="nothing was streamed"),
        pytest.param([event(text("Hello"), partial=False)], ["Hello"], [], id="NONE mode of LiteLlm"),
        pytest.param([*STREAMED, event(text("Hello world"))], ["Hello world"], [], id="longer"),
        pytest.param([*STREAMED, event(text("He"))], ["Hello"], [], id="shorter"),
        pytest.param([*ENDED, event(text("[redacted]"))], ["Hello"], [], id="redacted by a callback"),
        pytest.param([*ENDED, event(text("[redacted]"), text(" twice"))], ["Hello"], [], id="redacted, in parts"),
        pytest.param([*STREAMED, event(text("He"), text("llo"))], ["Hello"], [], id="in other parts"),
        pytest.param([*STREAMED, event(text("He"), text("llo!"))], ["Hello!"], [], id="in other parts, and longer"),
        pytest.param([*STREAMED, event(text("Hello"), CODE, RESULT, text("2"))], ["Hello", "2"], [], id="code behind"),
        pytest.param([*STREAMED, event()], ["Hello"], [], id="no content"),
        pytest.param([*STREAMED, event(text(""))], ["Hello"], [], id="empty"),
        pytest.param([*TWO_KINDS, event(text("Hel"), thought("Hm"))], ["Hel"], ["Hm"], id="reordered"),
        pytest.param([*TWO_KINDS, event(thought("Hm."), text("Hello"))], ["Hel", "lo"], ["Hm", "."], id="both longer"),
        pytest.param([*TWO_KINDS, event(text("Hello"))], ["Hello"], ["Hm"], id="its thoughts left out"),
        pytest.param([*TWO_KINDS, event(thought("Hm"))], ["Hel"], ["Hm"], id="its text left out"),
        pytest.param([*STREAMED, event(text("Hello")), event(text("Hello"))], ["Hello", "Hello"], [], id="said twice"),
        pytest.param(
            [*STREAMED, event(state={"a": 1}), event(text("Hello"))], ["Hello"], [], id="a state change between"
        ),
        pytest.param([fragment(text("")), event(text(""))], [], [], id="nothing but empty text"),
    ],
)
def test_of_a_complete_event_only_what_was_not_streamed_is_shown(
    events: list[Event], shown: list[str], reasoned: list[str]
) -> None:
    chunks = run(events)
    assert texts(chunks) == shown
    assert texts(chunks, "reasoning") == reasoned


USAGE = GenerateContentResponseUsageMetadata(prompt_token_count=1)
CUT = [fragment(text("Half"), finish_reason="SAFETY")]
NAMED = [fragment(text("Half"), model_version="one")]


@batch(
    events={
        "a callback answers for a model that failed": [*STREAMED, event(text("Sorry."))],
        "and says that it is no fragment": [*STREAMED, event(text("Sorry."), partial=False)],
        "and answers with another model": [
            *NAMED,
            event(text("Sorry."), model_version="two", partial=False, usage_metadata=USAGE, finish_reason="STOP"),
        ],
        "in thoughts": [fragment(thought("Half")), event(thought("Sorry."))],
        "a callback answers for a model that was stopped": [*CUT, event(text("Sorry."), partial=False)],
        "an agent says something else": [*STREAMED, event(text("Sorry."), text(" Again."))],
    }
)
def test_what_is_not_the_aggregate_of_the_stream_is_a_response_of_its_own(events: list[Event]) -> None:
    chunks = body(events)
    assert len(texts(chunks) + texts(chunks, "reasoning")) == 2
    assert kinds(chunks).count("start-step") == 2


@batch(
    events={
        "the stream had come to its end": [*ENDED, event(text("[redacted]"))],
        "it was changed in place": [*CUT, event(text("[redacted]"), finish_reason="SAFETY", error_code="SAFETY")],
        "ADK says that it is no fragment, and what it cost": [
            *STREAMED,
            event(text("[redacted]"), partial=False, usage_metadata=USAGE),
        ],
        "a call in it was streamed": [
            *STREAMED,
            fragment(call("f", {"x": 1}, "A")),
            event(text("[redacted]"), call("f", {"x": 1}, "A")),
        ],
    }
)
def test_an_aggregate_that_says_something_else_is_not_shown_on_top(events: list[Event]) -> None:
    shown = texts(run(events))
    assert len(shown) == 1
    assert "[redacted]" not in shown[0]


PLAN = "/*PLANNING*/ 1. Look.\n/*ACTION*/ Now. /*FINAL_ANSWER*/ It is 42."


@batch(
    events={
        "all of it came as text": [fragment(text(PLAN)), event(thought(" 1. Look.\n Now. "), text(" It is 42."))],
        "its beginning came as a thought": [
            *(fragment(thought(" 1.")), fragment(text(" Look.\n/*ACTION*/ Now. /*FINAL_ANSWER*/ It is 42."))),
            event(thought(" 1. Look.\n Now. "), text(" It is 42.")),
        ],
        "a plan alone": [fragment(text("/*PLANNING*/Look./*ACTION*/")), event(thought("Look."), partial=False)],
        "without a mark": [fragment(text("Look. It is 42.")), event(thought("Look. "), text("It is 42."))],
        "in tags": [fragment(text("<think>Look.</think>42")), event(thought("Look."), text("42"))],
        "as text what was a thought": [fragment(thought("Look.")), event(text("Look."))],
    }
)
def test_what_a_planner_sorts_into_thoughts_and_text_is_shown_once(events: list[Event]) -> None:
    chunks = run(events)
    shown = "".join(texts(chunks) + texts(chunks, "reasoning"))
    assert (shown.count("Look."), shown.count("42")) in {(1, 1), (1, 0)}


def test_an_answer_that_repeats_little_of_the_thoughts_is_shown() -> None:
    chunks = run([fragment(thought("Yes, I could look, or not.")), event(text("Yes"), partial=False)])
    assert texts(chunks) == ["Yes"]


def test_a_thought_between_two_texts_makes_three_parts_in_order() -> None:
    parts = (text("a"), thought("b"), text("c"))
    whole = body([event(*parts)])
    assert kinds(only(whole, "text-start", "reasoning-start")) == ["text-start", "reasoning-start", "text-start"]
    assert body([*(fragment(part) for part in parts), event(*parts)]) == whole


def test_parts_are_numbered_by_kind_through_the_message() -> None:
    chunks = run([event(text("a"), thought("b"), text("c"), thought("d"))])
    started = [(chunk["type"], chunk["id"]) for chunk in chunks if chunk["type"].endswith("g-start")]
    assert started == [("reasoning-start", "0"), ("reasoning-start", "1")]
    assert [chunk["id"] for chunk in chunks if chunk["type"] == "text-start"] == ["0", "1"]


def test_thoughts_can_be_kept_from_the_page() -> None:
    events = [fragment(thought("Hm.")), fragment(text("Yes.")), event(thought("Hm."), text("Yes."))]
    chunks = run(events, send_reasoning=False)
    assert texts(chunks, "reasoning") == []
    assert texts(chunks) == ["Yes."]


def test_a_fragment_of_several_kinds_is_shown_in_its_order() -> None:
    chunks = run([fragment(thought("Hm."), text("Yes.")), event(thought("Hm."), text("Yes."))])
    assert kinds(only(chunks, "text-start", "reasoning-start")) == ["reasoning-start", "text-start"]


SIGNATURE = {"adk": {"author": "agent"}, "google": {"thoughtSignature": "+/8="}}


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([event(thought("a", b"\xfb\xff"), text("b"))], "reasoning"),
        (
            [fragment(thought("a", b"\xfb\xff")), fragment(text("b")), event(thought("a", b"\xfb\xff"), text("b"))],
            "reasoning",
        ),
        ([event(thought("a"), text("b", b"\xfb\xff"))], "text"),
        ([fragment(text("b")), fragment(text("", b"\xfb\xff")), event(text("b"), text("", b"\xfb\xff"))], "text"),
        ([fragment(text("b")), event(text("b", b"\xfb\xff"))], "text"),
        ([fragment(text("b")), event(text("b"), text("", b"\xfb\xff"))], "text"),
        ([fragment(text("b")), fragment(Part(thought_signature=b"\xfb\xff")), event(text("b"))], "text"),
    ],
)
def test_a_signature_stands_at_the_end_of_its_own_part_and_keeps_the_speaker(events: list[Event], kind: str) -> None:
    ends = {chunk["type"]: chunk.get("providerMetadata") for chunk in run(events) if chunk["type"].endswith("-end")}
    assert {end: provider for end, provider in ends.items() if provider} == {f"{kind}-end": SIGNATURE}


def test_the_signature_of_a_file_that_was_streamed_signs_the_open_text() -> None:
    signed = picture().model_copy(update={"thought_signature": b"s"})
    events = [fragment(text("a")), fragment(picture()), fragment(text("b")), event(text("a"), signed, text("b"))]
    ends = [chunk for chunk in body(events) if chunk["type"] in ("file", "text-end")]
    assert [("file" if end["type"] == "file" else "google" in end.get("providerMetadata", {})) for end in ends] == [
        False,
        "file",
        True,
    ]


def test_a_signature_before_any_part_is_nobodys() -> None:
    assert body([event(text("", b"s")), event(Part(thought_signature=b"s"))]) == []


def test_agents_in_parallel_never_mix_in_one_part() -> None:
    a, b = {"author": "a", "branch": "par.a"}, {"author": "b", "branch": "par.b"}
    chunks = run(
        [
            fragment(text("A1 "), **a),
            fragment(text("B1 "), **b),
            fragment(text("A2"), **a),
            event(text("A1 A2"), **a),
            fragment(text("B2"), **b),
            event(text("B1 B2"), **b),
        ]
    )
    assert texts(chunks) == ["A1 A2", "B1 B2"]
    starts = [chunk["providerMetadata"] for chunk in chunks if chunk["type"] == "text-start"]
    assert starts == [{"adk": {"author": "a", "branch": "par.a"}}, {"adk": {"author": "b", "branch": "par.b"}}]
    assert kinds(chunks).count("start-step") == 1, "no step may end while the other agent speaks"


def test_nodes_of_one_author_speak_in_speakers_of_their_own() -> None:
    events = [fragment(text(word), node_path=f"wf@1/{node}@1") for word, node in ("1x", "2y", "3x", "4y")]
    ends = [event(text("13"), node_path="wf@1/x@1"), event(text("24"), node_path="wf@1/y@1")]
    assert texts(run([*events, *ends])) == ["13", "24"]


def test_the_same_agent_again_opens_another_part_in_another_step() -> None:
    chunks = run([event(text("one")), event(text("two"))])
    assert texts(chunks) == ["one", "two"]
    assert kinds(chunks).count("start-step") == 2


def test_what_was_streamed_before_an_error_is_not_taken_for_the_next_response() -> None:
    events = [fragment(text("Hel")), event(error_code="UNAVAILABLE"), event(text("Hello"))]
    assert texts(run(events)) == ["Hel", "Hello"]


def test_a_code_executor_takes_the_code_out_of_the_text_that_was_streamed() -> None:
    events = [fragment(text("Run:\n```python\nprint(2)\n```")), event(text("Run:\n"), CODE), event(RESULT)]
    chunks = run(events)
    assert texts(chunks) == ["Run:\n```python\nprint(2)\n```"]
    assert len(only(chunks, "tool-output-available")) == 1


def test_the_users_own_text_is_not_repeated() -> None:
    assert body([user(text("Hi")), event(text("Hello"))]) == body([event(text("Hello"))])


def test_agent_text_under_the_role_of_the_user_is_shown() -> None:
    assert texts(run([event(text("Done."), role="user", author="workflow")])) == ["Done."]


def test_a_picture_ends_the_text_before_it() -> None:
    chunks = body([event(text("Look:"), picture(), text("Nice."))])
    assert kinds(chunks) == [
        *("start-step", "text-start", "text-delta", "text-end", "file"),
        *("text-start", "text-delta", "text-end", "finish-step"),
    ]


def test_lone_surrogates_in_text_do_not_cut_the_stream() -> None:
    assert texts(run([event(text("a\ud800b"))])) == ["a\ufffdb"]
