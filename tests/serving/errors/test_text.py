import pytest
from pydantic import BaseModel, ValidationError

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
]


@pytest.mark.parametrize("secret", SECRETS)
def test_what_looks_like_a_key_is_removed(secret: str) -> None:
    assert one_line(f"The key {secret} is wrong.") == "The key [removed] is wrong."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("GET https://a.b/c?key=hunter2&alt=sse failed", "GET https://a.b/c failed"),
        ("redis://:hunter2@host:6379/0 refused", "redis://host:6379/0 refused"),
        ("postgresql+asyncpg://u:hunter2@db/x", "postgresql+asyncpg://db/x"),
        ("{'x-goog-api-key': 'hunter2'}", "{'x-goog-api-key': [removed]'}"),
        ("Authorization: Bearer hunter2", "Authorization: [removed]"),
        ("sent Bearer hunter2hunter2", "sent Bearer [removed]"),
        ("password=hunter2, user=ann", "password=[removed], user=ann"),
    ],
)
def test_what_is_named_as_a_secret_is_removed(text: str, shown: str) -> None:
    assert one_line(text) == shown


def test_the_values_of_secret_variables_of_the_environment_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "correct horse")
    assert one_line("refused: correct horse!") == "refused: [removed]!"


def test_words_about_keys_and_tokens_stay() -> None:
    text = "Limit of tokens per min: 30000. You can find your API key at https://a.b/api-keys."
    assert one_line(text) == text


def test_a_text_is_one_bounded_line_without_the_traceback_in_it() -> None:
    assert one_line("a\n  b\r\n\tc") == "a b c"
    assert one_line("It failed.\nTraceback (most recent call last):\n  File x") == "It failed."
    assert len(one_line("word " * 10**6)) <= LIMIT


class Wish(BaseModel):
    days: int


class UnspeakableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_is_its_type_and_what_it_says() -> None:
    with pytest.raises(ValidationError) as refused:
        Wish(days="hunter2")  # type: ignore[arg-type]  # what is refused
    assert error_text(refused.value).startswith("ValidationError: Wish days: Input should be a valid integer")
    assert "hunter2" not in error_text(refused.value)
    assert error_text(KeyError("city")) == "KeyError: 'city'"
    assert error_text(KeyError("Context variable not found: `a`.")) == "KeyError: Context variable not found: `a`."
    assert error_text(TimeoutError()) == "TimeoutError"
    assert error_text(UnspeakableError()) == "UnspeakableError"
    assert (
        error_text(ExceptionGroup("two", [OSError("a"), ValueError("b")]))
        == "ExceptionGroup: OSError: a; ValueError: b"
    )
