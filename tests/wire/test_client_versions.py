"""The versions of the client, and since when each accepts what."""

from typing import get_args, get_type_hints

import pytest

from stream_protocol.wire import AiSdkOption, StreamProtocolError, client_version
from stream_protocol.wire._chunks import Chunk
from stream_protocol.wire._client_versions import CHUNK_VERSIONS, KEY_VERSIONS, OLDEST, ClientVersion, Since
from stream_protocol.wire.client._chunk_schema import _SCHEMAS
from tests.processes import ROOT

V7_TYPES = {"reset-step", "reasoning-file", "custom", "tool-approval-response", "steering-message"}


@pytest.mark.parametrize(
    ("ai_sdk", "version"),
    [(6, (6, 0, 39)), (7, (7, 0, 32)), ("7.0.120", (7, 0, 120)), ("6.0.0", (6, 0, 0)), ("7.12.3", (7, 12, 3))],
)
def test_a_major_version_stands_for_an_old_client(ai_sdk: object, version: tuple[int, ...]) -> None:
    assert client_version(ai_sdk) == version


NO_VERSIONS = [
    5,
    8,
    True,
    6.0,
    None,
    "",
    "7",
    "6",
    "5.0.1",
    "7.0",
    "7.00.1",
    "7.0.08",
    "7.0.1.2",
    "v7.0.1",
    "7.0.1-beta",
    " 7.0.1",
    "7.0.\u0663",
]


@pytest.mark.parametrize("ai_sdk", NO_VERSIONS)
def test_another_value_is_refused_in_one_sentence(ai_sdk: object) -> None:
    with pytest.raises(
        StreamProtocolError, match=r'^`ai_sdk` must be 6, 7, or a full version such as "7\.0\.120", not '
    ):
        client_version(ai_sdk)


@pytest.mark.parametrize(
    ("ai_sdk", "kind", "key", "accepts"),
    [
        (6, "text-delta", None, True),
        (6, "data-weather", None, True),
        (6, "tool-approval-response", None, False),
        ("6.0.326", "steering-message", None, False),
        (7, "tool-approval-response", None, True),
        (7, "steering-message", None, False),
        ("7.0.162", "steering-message", None, False),
        ("7.0.163", "steering-message", None, True),
        ("7.1.0", "steering-message", None, True),
        ("7.0.69", "reset-step", None, False),
        ("7.0.70", "reset-step", None, True),
        (6, "tool-approval-request", "signature", False),
        ("6.0.202", "tool-approval-request", "signature", True),
        ("6.0.231", "tool-approval-request", "reason", True),
        (7, "text-end", "citations", True),
        ("7.0.31", "text-end", "citations", False),
        ("7.0.0", "tool-output-available", "providerMetadata", True),
        ("6.0.119", "tool-output-available", "providerMetadata", False),
        (6, "text-start", "id", True),
    ],
)
def test_a_client_accepts_types_that_it_knows_and_ignores_keys_since_a_version(
    ai_sdk: object, kind: str, key: str | None, *, accepts: bool
) -> None:
    assert client_version(ai_sdk).accepts(kind, key) == accepts


def test_the_table_has_the_types_that_the_schemas_of_the_clients_do_not_share() -> None:
    assert _SCHEMAS[7].keys() - _SCHEMAS[6].keys() == V7_TYPES == CHUNK_VERSIONS.keys()


ONLY_TO_V7 = {
    ("tool-approval-request", "reason"),
    ("tool-approval-request", "approvalDescriptor"),
    ("text-end", "citations"),
}
"""Held by ``tests/serving/test_cards_of_tools.py`` and ``tests/stream/test_citations.py``."""


def test_no_key_of_the_table_is_sent_by_default_to_a_client_that_refuses_it() -> None:
    oldest = ClientVersion(6, 0, 39)
    for chunk in get_args(Chunk):
        hints = get_type_hints(chunk)
        kind = get_args(hints["type"])[0]
        if kind not in CHUNK_VERSIONS:
            keys = {(kind, key) for key in hints} & KEY_VERSIONS.keys() - ONLY_TO_V7
            assert all(oldest.accepts(*key) for key in keys)


@pytest.mark.parametrize(("ai_sdk", "knows"), [(6, False), (7, False), ("7.0.137", False), ("7.0.138", True)])
def test_a_key_that_a_client_only_ignores_is_not_known(ai_sdk: AiSdkOption, knows: bool) -> None:
    assert client_version(ai_sdk).knows("text-end", "citations") == knows


def test_the_page_has_the_table() -> None:
    """The table omits the keys that all supported clients accept."""
    kinds = [("", kind, since) for kind, since in CHUNK_VERSIONS.items()]
    keys = [(f"`{key}` of ", kind, since) for (kind, key), since in KEY_VERSIONS.items()]
    supported: Since = {6: OLDEST[6], 7: ClientVersion(7, 0, 0)}
    rows: dict[tuple[str, str], list[str]] = {}
    for key, kind, since in (*kinds, *keys):
        if all(major in since and since[major] <= oldest for major, oldest in supported.items()):
            continue
        rows.setdefault((key, f"{since.get(6) or 'never'} | {since.get(7)}"), []).append(f"`{kind}`")
    lines = [f"| {key}{', '.join(chunks)} | {since} |" for (key, since), chunks in rows.items()]
    page = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")
    assert "\n".join(["| Chunk, or key of a chunk | v6 since | v7 since |", "|---|---|---|", *lines]) in page
