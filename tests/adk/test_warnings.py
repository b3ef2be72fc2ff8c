import logging

import pytest

from stream_protocol.adk import WarnOnce


def test_each_thing_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    warn = WarnOnce()
    with caplog.at_level(logging.WARNING, "stream_protocol"):
        for what in ("a", "b", "a"):
            warn(what)
    assert caplog.messages == ["a", "b"]
