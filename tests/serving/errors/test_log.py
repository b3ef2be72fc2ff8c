"""The log of a failure: one sentence, and the traceback at debug level."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.models import LlmResponse

from stream_protocol.server import log_to_terminal
from stream_protocol.serving import create_app, explain_error
from stream_protocol.serving.errors import log_error
from stream_protocol.testing import ScriptedLlm
from tests.serving.support import chat, said, stream, text

OURS = "stream_protocol"
ENGINE = "google_adk.google.adk.workflow._node_runner"
MASKED = {"type": "error", "errorText": "An error occurred."}


def ours(caplog: pytest.LogCaptureFixture, level: int) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name.startswith(OURS) and record.levelno == level]


async def test_a_run_that_fails_is_logged_in_one_sentence_and_the_chat_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG, logger=OURS)
    app = create_app(LlmAgent(name="assistant", model=ScriptedLlm(turns=[RuntimeError("no\nsky"), ["Better."]])))
    assert (await stream(app, chat(said("hi"))))[-1] == MASKED
    (told,) = ours(caplog, logging.ERROR)
    assert (told.getMessage(), told.exc_info) == ("The model scripted raised RuntimeError: no sky.", None)
    (trace,) = [record for record in ours(caplog, logging.DEBUG) if record.exc_info]
    assert "Traceback" in logging.Formatter().format(trace)
    assert text(await stream(app, chat(said("hi"), trigger="regenerate-message"))) == "Better."


async def test_a_failure_that_adk_reports_as_an_event_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    def block(callback_context: object, llm_request: object) -> LlmResponse:
        return LlmResponse(error_code="PROHIBITED_CONTENT")

    agent = LlmAgent(name="assistant", model=ScriptedLlm(turns=[["Never."]]), before_model_callback=block)
    assert (await stream(create_app(agent), chat(said("hi"))))[-1] == MASKED
    (told,) = ours(caplog, logging.ERROR)
    assert told.getMessage().startswith("The model blocked the prompt or its answer (PROHIBITED_CONTENT)")


@contextmanager
def terminal(*handlers: logging.Handler) -> Iterator[None]:
    """Give the process only these log handlers in this block, without pytest's."""
    root, package = logging.getLogger(), logging.getLogger(OURS)
    before, level = root.handlers[:], package.level
    root.handlers[:] = handlers
    try:
        yield
    finally:
        root.handlers[:] = before
        package.setLevel(level)


@pytest.mark.parametrize("verbose", [False, True])
def test_a_warning_of_adk_about_its_own_features_is_printed_only_for_developers(verbose: bool) -> None:
    with terminal(), warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        log_to_terminal(verbose=verbose)
        warnings.warn("[EXPERIMENTAL] feature FeatureName.PLUGINS is enabled.", UserWarning, stacklevel=1)
        warnings.warn("The tool has no description.", UserWarning, stacklevel=1)
    assert len(shown) == (2 if verbose else 1)


@pytest.fixture
def printed(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """Return the output on stderr since the last call."""
    return lambda: capsys.readouterr().err


def raised(error: Exception) -> Exception:
    """Return the error, with a traceback."""
    with pytest.raises(type(error)) as caught:
        raise error
    return caught.value


def test_the_terminal_has_one_line_for_each_failure(printed: Callable[[], str]) -> None:
    error = raised(ValueError("two\nlines"))
    sentence = explain_error(error)
    with terminal():
        log_to_terminal()
        logging.getLogger(ENGINE).error("Node execution failed with exception", exc_info=error)
        logging.getLogger("google_adk.google.adk.runners").error("Root node a failed.", exc_info=error)
        log_error(logging.getLogger(OURS), error)
        assert printed() == f"ERROR: {sentence}\n"
        logging.getLogger("somebody").error("It broke.", exc_info=error)
        logging.getLogger("somebody").error("It broke with %s.", error, exc_info=error)
        logging.getLogger("somebody").warning("Careful,\nthis\tis long.")
        logging.getLogger(ENGINE).warning("Node a failed and is being retried locally.")
    assert printed().splitlines() == [
        f"ERROR: It broke: {sentence}",
        "ERROR: It broke with two lines.",
        "WARNING: Careful, this is long.",
        "WARNING: Node a failed and is being retried locally.",
    ]


def test_the_terminal_names_runs_and_removes_what_else_looks_like_a_key(printed: Callable[[], str]) -> None:
    run_id, key = "0ae479719f7d47398eabb31444ecfe9b", "1be479719f7d47398eabb31444ecfe9b"
    with terminal():
        log_to_terminal()
        logging.getLogger(f"{OURS}.serving").warning("Run %s: %s", run_id, ValueError(f"the key {key}"))
        logging.getLogger("somebody").warning("Run %s.", run_id)
    assert printed().splitlines() == [
        f"WARNING: Run {run_id}: the key [redacted]",
        "WARNING: Run [redacted].",
    ]


def test_what_google_genai_leaves_of_a_client_without_a_key_is_not_told(printed: Callable[[], str]) -> None:
    scope: dict[str, Any] = {"__name__": "google.genai._api_client"}
    exec("def aclose():\n    raise AttributeError('_http')", scope)
    with pytest.raises(AttributeError) as leftover:
        scope["aclose"]()
    tasks = logging.getLogger("asyncio")
    with terminal():
        log_to_terminal()
        tasks.error("Task exception was never retrieved", exc_info=leftover.value)
        tasks.error("Task exception was never retrieved", exc_info=raised(OSError("disk")))
    (line,) = printed().splitlines()
    assert "OSError: disk" in line


def test_a_verbose_terminal_has_the_tracebacks(printed: Callable[[], str]) -> None:
    error = raised(ValueError("x"))
    with terminal():
        log_to_terminal(verbose=True)
        log_error(logging.getLogger(OURS), error)
        logging.getLogger(ENGINE).error("Node execution failed with exception", exc_info=error)
    lines = printed().splitlines()
    assert lines[0] == f"ERROR: {explain_error(error)}"
    assert lines.count("  Traceback (most recent call last):") == 2
    assert "ERROR: Node execution failed with exception" in lines


HOSTILE = "a\x1b[2Jb\x07c\x9bd\u202ee\u2066f\u2028g\u2029h\x85i\nERROR: forged\rERROR: forged\x0bERROR: forged"


@pytest.mark.parametrize("verbose", [False, True])
def test_a_foreign_text_steers_no_terminal_and_forges_no_line(verbose: bool, printed: Callable[[], str]) -> None:
    logger = logging.getLogger("somebody")
    with terminal():
        log_to_terminal(verbose=verbose)
        logger.error("It said %s.", HOSTILE)
        logger.error("It broke.", exc_info=raised(ValueError(HOSTILE)))
        logger.error(HOSTILE, stack_info=True)
        log_error(logger, raised(ValueError(HOSTILE)))
    text = printed()
    lines = text.removesuffix("\n").split("\n")
    assert [line for line in lines if line.startswith("ERROR: ")] == [line for line in lines if line[0] != " "]
    assert len([line for line in lines if line[0] != " "]) == 4
    assert not [line for line in lines if line.startswith("ERROR: forged")]
    assert {character for character in text if not character.isprintable()} <= {"\n"}
    assert "a\\u001b[2Jb\\u0007c\\u009bd\\u202ee\\u2066f" in lines[0]


def test_a_text_in_any_script_is_printed_as_it_is(printed: Callable[[], str]) -> None:
    text = "naïve 密码 пароль שלום 👩\u200d🔬 नमस्ते"
    with terminal():
        log_to_terminal()
        logging.getLogger("somebody").error("%s", text)
    assert printed() == f"ERROR: {text}\n"


def test_logging_that_the_app_has_set_up_stays() -> None:
    own = logging.NullHandler()
    with terminal(own):
        log_to_terminal()
        assert logging.getLogger().handlers == [own]
