"""Names that an app redacts are removed from its recordings, in each spelling and at each place."""

import json
from collections.abc import AsyncGenerator, Callable
from itertools import product
from pathlib import Path
from typing import Any, Final
from unicodedata import normalize
from urllib.parse import quote, quote_plus

import pytest
from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.events import Event
from google.genai import types

from stream_protocol import StreamProtocolError
from stream_protocol.recording import ChatRecorder, load_recording, record, redact_texts, replay_messages
from stream_protocol.serving import ChatService, create_app
from stream_protocol.testing import Call, ScriptedLlm, Thought
from tests.batch import batch
from tests.recording.recordings import drained, files, said, source
from tests.serving.chat_client import Page

NAMES: Final = (
    "Zoë Müller",
    "山田太郎",
    "👩\u200d🚀 Ada",
    "Ñandú",
    "नमिता",
    "مريم",
    "Straße",
    "O'Neil",
    "Łukasz",
    "İpek",
)
REDACTED: Final = "[redacted]"

SPELLINGS: Final[dict[str, Callable[[str], str]]] = {
    "as it is": lambda name: name,
    "decomposed": lambda name: normalize("NFD", name),
    "composed": lambda name: normalize("NFC", name),
    "in upper case": str.upper,
    "in lower case": str.lower,
    "in upper case, decomposed": lambda name: normalize("NFD", name.upper()),
    "over two lines": lambda name: name.replace(" ", "\n  "),
    "with another space": lambda name: name.replace(" ", "\u00a0"),
    "in JSON": json.dumps,
    "in JSON in JSON": lambda name: json.dumps(json.dumps({"name": name})),
    "in JSON, decomposed": lambda name: json.dumps(normalize("NFD", name)),
    "in a URL": lambda name: quote(name, safe=""),
    "in a form": quote_plus,
    "in a URL, in lower case": lambda name: quote(name, safe="").lower(),
}


def told(text: str) -> dict[str, Any]:
    return {"author": "root", "content": {"role": "model", "parts": [{"text": text}]}}


def redacted(value: dict[str, Any], *texts: str, kind: Any = "event") -> Any:
    return redact_texts(*(texts or NAMES))(kind, json.loads(json.dumps(value)))


@batch(name=NAMES, spelling=SPELLINGS)
def test_a_name_is_found_in_each_spelling(name: str, spelling: Any) -> None:
    shown = redacted(told(f"I am {spelling(name)}, hello"), name)
    text = shown["content"]["parts"][0]["text"]
    assert REDACTED in text
    assert len(text) <= len("I am , hello") + len(REDACTED) + len('"{\\"name\\": \\"\\"}"')


@pytest.mark.parametrize(
    "text", ["Zoe Muller", "Zoë", "Müller, Zoë", "Zoë-Müller", "ZM", "Zo\u0308e\u0308 Mu\u0308ller", "Zoë Mülle"]
)
def test_another_name_stays(text: str) -> None:
    assert redacted(told(text), "Zoë Müller") == told(text)


def test_a_name_without_a_mark_is_not_that_with_one() -> None:
    for form in ("NFC", "NFD"):
        text = normalize(form, "Zoë")
        assert redacted(told(text), "Zoe") == told(text)


def test_a_name_is_found_within_words() -> None:
    text = "Zoë Müllers Haus, MsZoë Müller, 山田太郎さん"
    assert redacted(told(text)) == told(f"{REDACTED}s Haus, Ms{REDACTED}, {REDACTED}さん")


def test_the_longest_text_counts() -> None:
    assert redacted(told("Zoë Müller"), "Zoë", "Zoë Müller", "Müller") == told(REDACTED)


@pytest.mark.parametrize("cut", range(1, len("I am Zoë Müller, Zoë Müller.")))
def test_a_name_is_found_across_the_parts_of_a_content(cut: int) -> None:
    text = "I am Zoë Müller, Zoë Müller."
    event = told(text[:cut])
    event["content"]["parts"].append({"text": text[cut:]})
    parts = redacted(event, "Zoë Müller")["content"]["parts"]
    assert "".join(part["text"] for part in parts) == f"I am {REDACTED}, {REDACTED}."
    event["content"]["parts"] = [{"text": letter} for letter in text]
    parts = redacted(event, "Zoë Müller")["content"]["parts"]
    assert "".join(part["text"] for part in parts) == f"I am {REDACTED}, {REDACTED}."


def test_a_thought_and_an_answer_are_not_read_as_one() -> None:
    event = told("Zoë ")
    event["content"]["parts"][0]["thought"] = True
    event["content"]["parts"].append({"text": "Müller"})
    assert redacted(event, "Zoë Müller") == event


def test_values_and_keys_are_searched_however_deep() -> None:
    name = NAMES[0]
    args = {name: [name, {"a": {name.upper(): name}}], "n": 1, "zoë müller": None, "type": name}
    part = {"functionCall": {"id": "c", "name": "look", "args": args}}
    event = {
        **told(name),
        "errorMessage": name,
        "customMetadata": {"user": name},
        "actions": {"stateDelta": {f"user:{name}": name}, "artifactDelta": {f"{name}.pdf": 1}},
    }
    event["content"]["parts"].append(part)
    shown = redacted(event)
    assert "Zo" not in json.dumps(shown)
    call = shown["content"]["parts"][1]["functionCall"]
    assert (call["id"], call["name"]) == ("c", "look")
    assert call["args"] == {
        REDACTED: [REDACTED, {"a": {REDACTED: REDACTED}}],
        "n": 1,
        f"{REDACTED}.2": None,
        "type": REDACTED,
    }
    assert shown["actions"] == {"stateDelta": {f"user:{REDACTED}": REDACTED}, "artifactDelta": {f"{REDACTED}.pdf": 1}}


def test_the_keys_and_words_of_the_protocol_stay() -> None:
    part = {"functionCall": {"id": "c", "name": "look", "args": {"text": "text"}}}
    event = {"author": "root", "content": {"role": "model", "parts": [part, {"text": "The model's role"}]}}
    assert redacted(event, "text", "model", "role", "content", "args") == {
        "author": "root",
        "content": {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "c", "name": "look", "args": {REDACTED: REDACTED}}},
                {"text": f"The {REDACTED}'s {REDACTED}"},
            ],
        },
    }


def test_the_app_s_own_keys_of_a_request_are_searched() -> None:
    body = {"id": "c", "partial": True, "ada": 1, "messages": [{"id": "u", "role": "user", "parts": []}], "who": "Ada"}
    assert redacted(body, "Ada", kind="request") == {
        "id": "c",
        "messages": [{"id": "u", "role": "user", "parts": []}],
        "partial": True,
        REDACTED: 1,
        "who": REDACTED,
    }


def test_files_and_signatures_stay_and_their_names_do_not() -> None:
    data = "Ada0" * 40
    parts = [
        {"inlineData": {"mimeType": "image/png", "data": data, "displayName": "Ada.png"}},
        {"text": "Ada", "thoughtSignature": data},
        {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{data}"},
        {"mimeType": "text/plain", "data": "I am Ada."},
        {"url": "data:text/plain;base64,I am Ada."},
    ]
    assert redacted({"parts": parts}, "Ada")["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": data, "displayName": f"{REDACTED}.png"}},
        {"text": REDACTED, "thoughtSignature": data},
        {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{data}"},
        {"mimeType": "text/plain", "data": f"I am {REDACTED}."},
        {"url": f"data:text/plain;base64,I am {REDACTED}."},
    ]


WRONG: list[tuple[tuple[Any, ...], str]] = [
    ((), "must be one or more texts"),
    (("",), "must be text"),
    (("Ada", " \n"), "more than white space"),
    ((["Ada"],), "must be text, not list"),
    ((None,), "must be text, not None"),
]


@pytest.mark.parametrize(("texts", "reason"), WRONG)
def test_what_cannot_be_searched_is_refused_at_once(texts: Any, reason: str) -> None:
    with pytest.raises(StreamProtocolError, match=reason):
        redact_texts(*texts)


# in recordings


def spellings_of(name: str) -> list[str]:
    whole = [form(name) for form in SPELLINGS.values()]
    return [*whole, *(word for word in name.split() if len(word) > 3)]


def assert_is_without(path: Path, *names: str) -> None:
    """Check that no spelling and no part of the names is in the file."""
    text = path.read_text(encoding="utf-8").casefold()
    read = json.dumps([json.loads(line) for line in text.splitlines()], ensure_ascii=False)
    for name in names:
        for spelling in spellings_of(name):
            assert spelling.casefold() not in text
            assert spelling.casefold() not in read


def greet(name: str) -> dict[str, Any]:
    """Greets."""
    return {"greeting": f"Hello, {name}!", name: 1}


@pytest.mark.parametrize("mode", [StreamingMode.NONE, StreamingMode.SSE])
@pytest.mark.parametrize("name", NAMES[:3])
async def test_a_recorded_chat_does_not_name_anybody(name: str, mode: StreamingMode, tmp_path: Path) -> None:
    model = ScriptedLlm(
        turns=[
            [Thought(f"It is {name}."), *f"Hello {name}, again.", Call("greet", {"name": name}, streamed=True)],
            [*f"Goodbye, {normalize('NFD', name)}."],
            [*"And again."],
        ]
    )
    agent = LlmAgent(name="root", model=model, tools=[greet])
    recorder = ChatRecorder(tmp_path, redact=redact_texts(*NAMES))
    page = Page(create_app(ChatService(agent, recorder=recorder, run_config=RunConfig(streaming_mode=mode))))
    await page.send(f"I am {name}.")
    await page.send("Hi")
    (path,) = files(tmp_path)
    assert_is_without(path, name)
    (asked, answered, *_) = replay_messages(load_recording(path).stream_turns())
    assert asked["parts"] == [{"type": "text", "text": f"I am {REDACTED}."}]
    texts: list[Any] = [part.get("text", part.get("output")) for part in answered["parts"] if len(part) > 1]
    greeting = {"greeting": f"Hello, {REDACTED}!", REDACTED: 1}
    assert texts == [f"It is {REDACTED}.", f"Hello {REDACTED}, again.", greeting, f"Goodbye, {REDACTED}."]


@batch(name=NAMES[:3])
async def test_a_name_that_lies_across_fragments_is_not_written(
    name: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("recorded") / "file"
    for cut in range(1, len(name)):
        pieces = [said(f"I am {name[:cut]}", partial=True), said(f"{name[cut:]}.", partial=True), said(f"I am {name}.")]
        await drained(record(source(pieces), path, redact=redact_texts(name)))
    assert_is_without(path, name)
    for turn in load_recording(path).turns():
        (event,) = turn.events
        assert event.content == types.Content(role="model", parts=[types.Part(text=f"I am {REDACTED}.")])
        assert turn.chunks is None


async def test_a_run_that_is_stopped_in_mid_name_leaves_nothing_of_it(tmp_path: Path) -> None:
    async def stopped() -> AsyncGenerator[Event, None]:
        yield said("Hi", author="user")
        yield said("I am Zoë M", partial=True)
        raise RuntimeError("no quota")

    with pytest.raises(RuntimeError):
        await drained(record(stopped(), tmp_path / "file", redact=redact_texts("Zoë Müller")))
    assert "Zo" not in (tmp_path / "file").read_text()
    (turn,) = load_recording(tmp_path / "file").turns()
    assert (len(turn.events), turn.end) == (1, "error")


@pytest.mark.parametrize("texts", [("Élodie",), ("Ada é",), ("\\ é",), ("山 田",)])
@pytest.mark.parametrize("piece", ["\\", "Ada ", "É\\", "é ", "山\\", "\\n", "%", "+"])
def test_the_search_for_a_name_looks_at_each_character_a_few_times(piece: str, texts: tuple[str, ...]) -> None:
    # Quadratic time would be ten minutes, above the time limit of all tests.
    redacted({"k": piece * (300_000 // len(piece))}, *texts)


def test_keys_that_become_equal_are_numbered_in_linear_time() -> None:
    spellings = ["".join(("Ada", *spaces, "Bell")) for spaces in product(" +", repeat=17)]
    keys = [*spellings[:3], f"{REDACTED}.2", *spellings[3:]]
    # Quadratic time would be fifteen minutes, above the time limit of all tests.
    shown = list(redacted({"data": dict.fromkeys(keys)}, "Ada Bell")["data"])
    assert shown[:5] == [REDACTED, *(f"{REDACTED}.{end}" for end in ("2", "3", "2.2", "4"))]
    assert shown[-1] == f"{REDACTED}.{len(spellings)}"
