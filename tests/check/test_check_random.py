"""For any stream, ``check`` reports a fatal finding exactly where the client's reducer fails."""

import io
import json
from random import Random

import pytest

from stream_protocol import SSE_DONE
from stream_protocol.check import check_stream
from stream_protocol.wire import AiSdkVersion, ClientStreamError
from stream_protocol.wire.client import parse_sse
from stream_protocol.wire.client._reducer import reduce_chunks
from tests.check.bad_streams import FATAL
from tests.wire.random_streams import random_stream

STREAMS = 300


@pytest.mark.parametrize("ai_sdk", [6, 7])
def test_a_random_stream_is_fatal_if_the_reducer_refuses_it(ai_sdk: AiSdkVersion, rng: Random) -> None:
    for _ in range(STREAMS):
        stream = random_stream(rng, ai_sdk)
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in stream).encode() + SSE_DONE
        fatal = False
        try:
            reduce_chunks(parse_sse(body), ai_sdk=ai_sdk)
        except ClientStreamError as error:
            fatal = error.error_class != "Error"
        found = {finding.rule for finding in check_stream(io.BytesIO(body), versions=[ai_sdk])}
        assert bool(found & FATAL) == fatal, body.decode()
