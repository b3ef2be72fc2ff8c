from stream_protocol.wire import ChatRequestError


def test_a_refusal_says_when_to_come_again_if_somebody_knows() -> None:
    assert ChatRequestError("No.").headers == {}
    assert ChatRequestError("Later.", status=429, retry_after=5).headers == {"Retry-After": "5"}
