import traceback
from contextlib import suppress

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from stream_protocol._secret_texts import message_without_secrets
from stream_protocol.serving.errors._text import LIMIT, error_text, one_line

SECRETS = [
    "AIzaSyA1234567890abcdefghijklmnopqrstuv",
    "sk-proj-abcdEFGH1234",
    "sk-ant-api03-abcdefgh",
    "sk-abcde***********wxyz",
    "ya29.a0AfH6SMBx",
    "ghp_abcdefghij1234567890",
    "eyJhbGciOi.eyJzdWIiOiIx.c2ln",
    "AKIAABCDEFGHIJKLMNOP",
    "0123456789abcdef0123456789abcdef",
    "glpat-abcdef123456",
    "npm_abcdef1234567890",
    "SG.abcdefgh1234.ABCDEFGHIJ",
]


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_key_is_removed(secret: str) -> None:
    assert one_line(f"The key {secret} is wrong.") == "The key [redacted] is wrong."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://a.b/c?key=hunter2&alt=sse failed", "GET https://a.b/c failed"),
        ("redis://:hunter2@host:6379/0 refused", "redis://host:6379/0 refused"),
        ("postgresql+asyncpg://u:hunter2@db/x", "postgresql+asyncpg://db/x"),
        ("{'x-goog-api-key': 'hunter2'}", "{'x-goog-api-key': [redacted]}"),
        ("Authorization: Bearer hunter2", "Authorization: [redacted]"),
        ("sent Bearer hunter2hunter2", "sent Bearer [redacted]"),
        ("password=hunter2, user=ann", "password=[redacted], user=ann"),
        ("postgres://u:p@hunter2@db/x", "postgres://db/x"),
        ("postgres://u:p/hunter2@db/x", "postgres://db/x"),
        ("http://host:8000/@scope/x", "http://host:8000/@scope/x"),
        ("http://a?to=http://u:hunter2@b", "http://a"),
        ("http://a/http://u:hunter2@b/c", "http://a/http://b/c"),
        ("http://ann@a/http://u:hunter2@b", "http://a/http://b"),
        ("http://a#http://b?hunter2", "http://a#http://b"),
        ("see http://a#b?c, x", "see http://a#b?c, x"),
        ("Is it http://a?", "Is it http://a?"),
        (r"{\"password\": \"hunter2\"}", r'{\"password\": [redacted]"}'),
        ("password=b'hunter2'", "password=[redacted]"),
        ("password: 'horse hunter2', x", "password: [redacted], x"),
        ("Authorization: Token hunter2", "Authorization: [redacted]"),
        ("AccountKey=hunter2;x", "AccountKey=[redacted];x"),
        ("private_key: hunter2", "private_key: [redacted]"),
        ("passphrase=hunter2", "passphrase=[redacted]"),
        ("tokens: ['hunter2']", "tokens: [redacted]]"),
        ("API key provided: hunter2.", "API key provided: [redacted]"),
        ("Cookie: a=hunter2; b=hunter2", "Cookie: [redacted]"),
        ("-----BEGIN PRIVATE KEY-----\nhun/ter2\n-----END PRIVATE KEY----- x", "[redacted] x"),
    ],
)
def test_what_is_named_as_a_secret_is_removed(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_the_values_of_secret_variables_of_the_environment_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "correct horse")
    assert one_line("refused: correct horse!") == "refused: [redacted]!"
    monkeypatch.setenv("A_LONGER_TOKEN", "correct horse\nbattery")
    assert one_line("refused: correct horse\nbattery!") == "refused: [redacted]!"


def test_words_about_keys_and_tokens_stay() -> None:
    text = "Limit of tokens per min: 30000, max_tokens: 40000. You can find your API key at https://a.b/api-keys."
    assert one_line(text) == text


def test_a_text_is_one_bounded_line_without_the_traceback_in_it() -> None:
    assert one_line("a\n  b\r\n\tc") == "a b c"
    assert one_line("It failed.\nTraceback (most recent call last):\n  File x") == "It failed."
    assert len(one_line("word " * 10**6)) <= LIMIT


@pytest.mark.parametrize("space", [" ", "\n", "\t"])
def test_a_text_that_is_too_long_ends_after_a_whole_word(space: str) -> None:
    words = ("It", "raised", "something", "unusual")
    for length in range(12, 5000, 487):
        told = one_line(space.join(words * length), LIMIT)
        assert len(told) <= LIMIT
        assert told.removesuffix("…").split() == [*words * LIMIT][: len(told.split())]
        assert told.endswith("…")


def test_of_a_text_that_is_nearly_all_space_the_end_is_not_cut_in_a_word() -> None:
    assert one_line("a" + " " * (20 * LIMIT - 4) + "whole") == "a…"
    assert one_line("a" + " " * (20 * LIMIT - 10) + "whole") == "a whole"


def test_a_word_that_is_longer_than_a_line_is_cut() -> None:
    assert one_line("漢" * 1000) == "漢" * (LIMIT - 1) + "…"
    assert one_line("see " + "漢" * 1000) == "see " + "漢" * (LIMIT - 5) + "…"


def test_a_text_that_is_a_traceback_alone_becomes_its_exception() -> None:
    cause, error = OSError("full"), ValueError("no\nroom")
    for raised in (cause, error):
        with suppress(OSError, ValueError):
            raise raised
    error.__cause__ = cause
    assert one_line("".join(traceback.format_exception(error))) == "ValueError: no room"
    assert one_line("Traceback (most recent call last)") == "Traceback (most recent call last)"
    assert one_line("") == ""


class Wish(BaseModel):
    model_config = ConfigDict(extra="forbid")

    days: int


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_is_its_type_and_what_it_says() -> None:
    with pytest.raises(ValidationError) as refused:
        Wish(days="hunter2")  # type: ignore[arg-type]  # what is refused
    assert error_text(refused.value).startswith("ValidationError: Wish: `days`: Input should be a valid integer")
    assert "hunter2" not in error_text(refused.value)
    with pytest.raises(ValidationError) as incomplete:
        Wish(day=1, week=2, month=3)  # type: ignore[call-arg]  # what is refused
    problems = "`days` is missing; `day` is not one of its fields; `week` is not one of its fields; 1 more problem"
    assert error_text(incomplete.value) == f"ValidationError: Wish: {problems}"
    assert error_text(KeyError("city")) == "KeyError: 'city'"
    assert error_text(KeyError("Context variable not found: `a`.")) == "KeyError: Context variable not found: `a`."
    assert error_text(TimeoutError()) == "TimeoutError"
    assert error_text(UnspeakableError()) == "UnspeakableError"
    assert (
        error_text(ExceptionGroup("two", [OSError("a"), ValueError("b")]))
        == "ExceptionGroup: OSError: a; ValueError: b"
    )


def test_of_groups_in_groups_the_first_errors_are_told() -> None:
    group: ExceptionGroup[Exception] = ExceptionGroup("0", [OSError("a")])
    for _ in range(5000):
        group = ExceptionGroup("", [group, group])
    assert error_text(group) == "ExceptionGroup: OSError: a; OSError: a; OSError: a"


def test_characters_that_no_terminal_may_get_are_escaped() -> None:
    harmful = [*range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2028, 0x2029, 0xD800]
    for character in map(chr, harmful):
        assert one_line(f"a{character}b").isprintable()
    assert one_line("a\\b €\u200d é") == "a\\b €\u200d é"


@pytest.mark.parametrize("piece", ["a:b://", "a://1", "a://b@", "a#b?"])
def test_the_search_for_passwords_in_urls_looks_at_each_character_once(piece: str) -> None:
    # In quadratic time this takes ten minutes, and the timeout of all tests ends it.
    message_without_secrets(piece * (600_000 // len(piece)))


def test_the_search_for_secrets_begins_once_in_a_long_word() -> None:
    for word in ("a", "a-", "key", "é", "_"):
        for _ in range(40):  # if each takes a second, the timeout of all tests ends the test
            one_line(word * 6000)
