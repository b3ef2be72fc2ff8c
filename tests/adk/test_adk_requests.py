from typing import Any

import pytest

from stream_protocol.adk import confirmed_call, credential_input, is_confirmed


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        ({}, {}),
        (
            {"auth_config": {"auth_scheme": {"type_": "openIdConnect", "scopes": ["a", 1]}}},
            {"schemeType": "openIdConnect", "scopes": ["a", "1"]},
        ),
        ({"function_call_id": "A", "message": "Sign in"}, {"functionCallId": "A", "message": "Sign in"}),
        ({"authConfig": {"exchangedAuthCredential": {"oauth2": {"auth_uri": "https://a"}}}}, {"authUri": "https://a"}),
        ({"authConfig": {"authScheme": {"flows": {"implicit": {"scopes": None}, "password": None}}}}, {}),
        ({"authConfig": "SECRET"}, {}),
    ],
)
def test_of_a_credential_request_only_what_is_known_is_taken_over(args: dict[str, Any], shown: dict[str, Any]) -> None:
    assert credential_input(args) == shown


@pytest.mark.parametrize(
    ("args", "original"),
    [
        ({"originalFunctionCall": {"id": "A"}}, {"id": "A"}),
        ({"original_function_call": {"id": "A"}}, {"id": "A"}),
        ({"originalFunctionCall": "?"}, {}),
        ({}, {}),
    ],
)
def test_the_gated_call_is_found_under_either_spelling(args: dict[str, Any], original: dict[str, Any]) -> None:
    assert confirmed_call(args) == original


@pytest.mark.parametrize(
    ("answer", "confirmed"),
    [
        ({"confirmed": True, "payload": {"x": 1}}, True),
        ({"confirmed": False}, False),
        ({"response": '{"confirmed": true}'}, True),
        ({"response": '{"confirmed": 1}'}, None),
    ],
)
def test_a_decision_is_a_flag_or_the_same_as_json_text(answer: dict[str, Any], *, confirmed: bool | None) -> None:
    assert is_confirmed(answer) is confirmed
