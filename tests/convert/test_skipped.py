import logging

import pytest

from stream_protocol.convert.skipped import Skipped


def test_each_thing_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    skipped = Skipped()
    with caplog.at_level(logging.WARNING, "stream_protocol"):
        for what in ("a", "b", "a"):
            skipped.add(what)
    assert caplog.messages == ["skipped a", "skipped b"]
