from stream_protocol.wire import ChatRequestError


def test_a_refusal_says_when_to_come_again_if_somebody_knows() -> None:
    assert ChatRequestError("No.").headers == {}
    assert ChatRequestError("Later.", status=429, retry_after=5).headers == {"Retry-After": "5"}


def test_a_refusal_has_the_reason_that_its_status_means_or_one_of_its_own() -> None:
    reasons = {status: ChatRequestError("No.", status=status).reason for status in (400, 401, 404, 409, 413, 422)}
    assert reasons == {
        400: "invalid",
        401: "no_user",
        404: "not_found",
        409: "conflict",
        413: "too_large",
        422: "invalid",
    }
    assert ChatRequestError("No.", status=429, reason="request_rate").reason == "request_rate"
