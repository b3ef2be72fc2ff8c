"""The log in JSON: the fields of a record, and the omitted ones."""

import io
import json
import logging
import re
import sys
import threading
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from google.adk.agents import LlmAgent

from stream_protocol.server import log_to_terminal
from stream_protocol.server._json_lines import JsonLines
from stream_protocol.server._terminal_log import log_lost_errors
from stream_protocol.serving import ChatIdFilter, create_app, explain_error
from stream_protocol.serving.errors import Quoting
from stream_protocol.testing import ScriptedLlm
from tests.batch import batch
from tests.documents import block
from tests.serving.errors.test_log import raised, terminal
from tests.serving.support import chat, said, stream

SECRET = "xylophone"
OTHER = logging.getLogger("another_library")
HOOKS = ((threading, "excepthook"), (sys, "unraisablehook"), (sys, "excepthook"))
"""Hooks through which Python reports uncaught errors."""

OURS = logging.getLogger("stream_protocol.serving.some_module")


@pytest.fixture(autouse=True)
def printed(monkeypatch: pytest.MonkeyPatch) -> Iterator[io.StringIO]:
    """Return the output on stderr of a process whose log is JSON."""
    err = io.StringIO()
    monkeypatch.setattr(sys, "stderr", err)
    for module, name in HOOKS:
        monkeypatch.setattr(module, name, getattr(module, name))  # restored at the end of the test
    packages = [logging.getLogger(name) for name in ("stream_protocol.serving", "stream_protocol.cli")]
    levels = [package.level for package in packages]
    with terminal():
        log_to_terminal(log_format="json", whole=["whole_app"])
        yield err
    logging.captureWarnings(False)
    for package, level in zip(packages, levels, strict=True):
        package.setLevel(level)


def lines(printed: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in printed.getvalue().splitlines()]


def test_a_line_has_its_time_severity_and_logger(printed: io.StringIO) -> None:
    OTHER.warning("It rains.")
    (line,) = lines(printed)
    assert line["time"].endswith("Z")
    assert {**line, "time": ""} == {
        "time": "",
        "severity": "WARNING",
        "logger": "another_library",
        "message": "It rains.",
    }


def test_what_is_filled_into_another_librarys_text_is_left_out(printed: io.StringIO) -> None:
    OTHER.warning("%s, %r: %d%% of %5.1f", SECRET, [SECRET], 4111, 3.5)
    OTHER.warning("%(word)s and 100 %%", {"word": SECRET})
    OTHER.warning("100 %")
    assert [line["message"] for line in lines(printed)] == ["…, …: …% of …", "… and 100 %", "100 %"]


@batch(text={"made before": f"It is {SECRET}.", "an object": {"it": SECRET}, "only a word": SECRET})
def test_a_text_that_does_not_stand_in_the_code_is_left_out(text: Any, printed: io.StringIO) -> None:
    OTHER.warning(text)
    OTHER.log(logging.ERROR, f"{text} %s", SECRET)
    assert SECRET not in printed.getvalue()
    assert lines(printed)[-1]["message"].startswith("… (test_json_lines.test_a_text_that_does_not")


def test_the_text_of_an_exception_is_left_out(printed: io.StringIO) -> None:
    error = raised(ValueError(SECRET))
    error.__cause__ = KeyError(SECRET)
    error.add_note(SECRET)
    OTHER.error("It failed.", exc_info=error)
    (line,) = lines(printed)
    assert SECRET not in json.dumps(line)
    assert (line["message"], line["error_type"]) == ("It failed.", "ValueError")
    assert line["stack"][-1].endswith(" raised")


def test_a_warning_of_python_is_a_line_without_its_text(printed: io.StringIO) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(False)
        logging.captureWarnings(True)  # pytest captures warnings itself
        warnings.warn(SECRET, stacklevel=1)
    (line,) = lines(printed)
    assert (line["logger"], line["severity"]) == ("py.warnings", "WARNING")
    assert SECRET not in line["message"]


def test_code_that_has_no_file_is_not_in_the_stack(printed: io.StringIO) -> None:
    code = compile(f"def {SECRET}(): 1 / 0\n{SECRET}()", "<written by a model>", "exec")
    try:
        exec(code, {})
    except ZeroDivisionError:
        OTHER.exception("It failed.")
    (line,) = lines(printed)
    assert len(line["stack"]) == 1


def test_a_logger_that_is_named_has_all_that_it_says(printed: io.StringIO) -> None:
    logging.getLogger("whole_app.tools").error("for %s", "Rome", exc_info=ValueError(SECRET))
    logging.getLogger("whole_apple").warning("for %s", "Rome")
    whole, other = lines(printed)
    assert (whole["message"], whole["error"]) == ("for Rome", SECRET)
    assert other["message"] == "for …"


def test_a_trusted_record_whose_arguments_do_not_fit_is_a_line_without_them() -> None:
    record = logging.LogRecord("whole_app", logging.ERROR, __file__, 1, "%d of them", (SECRET,), None, "gone")
    line = json.loads(JsonLines(["whole_app"]).format(record))
    assert line["message"] == "… (test_json_lines.gone, line 1)"


@pytest.fixture
def pythons_own_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets the hooks of a normal process, which pytest replaces."""
    for module, name in HOOKS:
        monkeypatch.setattr(module, name, getattr(module, f"__{name}__"))
    log_lost_errors()


@pytest.mark.usefixtures("pythons_own_hooks")
def test_what_ends_a_thread_is_a_line_without_its_text(printed: io.StringIO) -> None:
    for error in (ValueError(SECRET), SystemExit(SECRET)):
        thread = threading.Thread(target=raising, args=(error,))
        thread.start()
        thread.join()
    (line,) = lines(printed)
    assert (line["message"], line["error_type"]) == ("An error has ended a thread.", "ValueError")
    assert SECRET not in printed.getvalue()


@pytest.mark.usefixtures("pythons_own_hooks")
def test_what_cannot_be_raised_is_a_line_without_its_text(printed: io.StringIO) -> None:
    class Dying:
        def __del__(self) -> None:
            raise ValueError(SECRET)

    Dying()
    (line,) = lines(printed)
    assert (line["message"], line["error_type"]) == ("An error could not be raised.", "ValueError")
    assert SECRET not in printed.getvalue()


@pytest.mark.usefixtures("pythons_own_hooks")
def test_what_ends_the_process_is_a_line_without_its_text(printed: io.StringIO) -> None:
    error = raised(ValueError(SECRET))
    sys.excepthook(ValueError, error, error.__traceback__)
    (line,) = lines(printed)
    assert (line["severity"], line["error_type"]) == ("CRITICAL", "ValueError")
    assert SECRET not in printed.getvalue()


def test_a_hook_for_lost_errors_that_somebody_else_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = lambda *_: None  # noqa: E731 - one for all
    for module, name in HOOKS:
        monkeypatch.setattr(module, name, theirs)
    log_lost_errors()
    assert (threading.excepthook, sys.unraisablehook, sys.excepthook) == (theirs, theirs, theirs)


def raising(error: BaseException) -> None:
    raise error


def test_our_own_records_say_what_they_say_but_for_what_they_mark_as_quoted(printed: io.StringIO) -> None:
    OURS.info("Run %s: %s, %d", "r1", Quoting(SECRET), 3)
    OURS.info("Run %s: %s", "r1", Quoting(SECRET, "a word"))
    OURS.info("Half of it: 50 %")
    assert [line["message"] for line in lines(printed)] == ["Run r1: …, 3", "Run r1: a word", "Half of it: 50 %"]


def test_a_record_behind_a_queue_has_no_text_of_another_library(printed: io.StringIO) -> None:
    record = logging.LogRecord("another_library", logging.ERROR, __file__, 1, SECRET, (), None, "gone")
    logging.getLogger().handle(record)
    assert lines(printed)[0]["message"] == "… (test_json_lines.gone, line 1)"


def test_the_ids_are_there_for_any_format() -> None:
    record = logging.makeLogRecord({"msg": "Hi."})
    assert ChatIdFilter().filter(record)
    assert logging.Formatter("%(chat_id)s|%(run_id)s|%(user_id)s|%(trace_id)s|%(span_id)s").format(record) == "||||"


async def test_a_log_of_ones_own_has_the_ids(capsys: pytest.CaptureFixture[str]) -> None:
    app = create_app(LlmAgent(name="root", model=ScriptedLlm(turns=[RuntimeError("no sky")])))
    with terminal():
        exec(block("docs/monitoring.md", "ChatIdFilter()"), {})
        await stream(app, chat(said("hi")))
    assert re.search(r"^ERROR c1 [0-9a-f]{32} local  The model scripted raised", capsys.readouterr().err, re.MULTILINE)


class RefusedError(Exception):
    """An exception like those of a provider's client."""

    status_code = 429

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.body = {"error": {"message": text, "code": text}}


RefusedError.__module__ = "openai"

ERRORS = {
    "any": (ValueError(SECRET), "ValueError (test_log.py, line"),
    "provider": (RefusedError(SECRET), "The quota of the API key for the model is used up (429): wait"),
    "unknown model": (ValueError(f"Model {SECRET} not found."), "ValueError (test_log.py, line"),
    "package": (ImportError(SECRET, name="litellm"), "The package litellm is not installed here (ImportError)"),
}


@batch(case=ERRORS)
def test_an_error_can_be_explained_without_its_words(case: tuple[Exception, str]) -> None:
    error, beginning = case
    assert SECRET in explain_error(raised(error))
    sentence = explain_error(error, quoting=False)
    assert sentence.startswith(beginning), sentence
    assert SECRET not in sentence
