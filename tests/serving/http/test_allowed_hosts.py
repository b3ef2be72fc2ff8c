"""The host names that a server answers to."""

import socket
from collections.abc import Sequence
from typing import Final

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Scope

from stream_protocol import StreamProtocolError
from stream_protocol.server import exposure_warning, only_allowed_hosts

ALLOWED: Final = ["localhost", "LOCALHOST", "localhost.", "chat.localhost", "127.0.0.1", "127.8.9.1", "[::1]"]
ALLOWED_ADDRESSES: Final = ["[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]"]
PORTS: Final = ["", ":8000", ":80", ":"]
NAMED: Final = ["evil.example", "localhost.evil.example", "evil-localhost", "127.0.0.1.nip.io", "rebind.127.0.0.1"]
ADDRESSES: Final = ["10.0.0.7", "0.0.0.0", "169.254.169.254", "[fd00::1]", "[::]", "[::ffff:10.0.0.7]"]
NONE: Final = [
    *("", " ", ":8000", "localhost:port", "localhost:800000", "localhost@evil.example", "evil.example@localhost"),
    *("localhost,evil.example", "localhost evil.example", "http://localhost", "localhost/", "[::1", "::1", "[evil]"),
    *("127.1", "0x7f.0.0.1", "2130706433", "127.0.0.01", "localhost..", ".localhost", "löcalhost", "localhost\u00b2"),
]


def listener(host: str) -> socket.socket:
    """Return a bound socket, for its address. Nothing listens on it."""
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    bound.bind((host, 0))
    return bound


async def asked(
    hosts: Sequence[str], *, bound: str = "127.0.0.1", allowed: Sequence[str] = (), behind_proxy: bool = False
) -> tuple[int, str]:
    """Return the status and the text of the response to a request with these ``Host`` headers."""
    with listener(bound) as sock:
        app = only_allowed_hosts(PlainTextResponse("Hello."), sock, allowed, behind_proxy=behind_proxy)
    headers = [(b"host", host.encode("latin-1")) for host in hosts]
    scope: Scope = {"type": "http", "method": "GET", "headers": [*headers, (b"x-forwarded-host", b"localhost")]}
    sent: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("nothing is read")

    async def send(message: Message) -> None:
        sent.append(message)

    await app({**scope, "server": ("10.0.0.9", 8000)}, receive, send)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()


@pytest.mark.parametrize("bound", ["127.0.0.1", "127.0.0.5", "::1", "::ffff:127.0.0.1"])
async def test_a_loopback_server_answers_to_loopback_whatever_the_port(bound: str) -> None:
    for host in (*ALLOWED, *ALLOWED_ADDRESSES):
        for port in PORTS:
            assert (host, port, await asked([host + port], bound=bound)) == (host, port, (200, "Hello."))


async def test_another_name_or_address_is_refused_with_what_to_do() -> None:
    for host in (*NAMED, *ADDRESSES):
        status, words = await asked([f"{host}:8000"])
        assert (host, status) == (host, 403)
        assert words.endswith(f" start it with --allowed-host {host}.")
        assert "\n" not in words


async def test_what_is_no_host_name_is_refused_and_not_repeated() -> None:
    for host in NONE:
        status, words = await asked([host])
        assert (host, status) == (host, 403)
        assert "--allowed-host" in words
        assert "evil" not in words


async def test_one_host_must_be_named_and_a_forwarded_one_is_not_believed() -> None:
    for hosts in ([], ["localhost", "evil.example"], ["localhost", "localhost"]):
        assert (await asked(hosts))[0] == 403


async def test_an_allowed_host_is_answered_and_so_are_all_below_a_dot() -> None:
    allowed = ["Chat.Example:8000", ".github.dev", "10.0.0.7", "[fd00::1]"]
    for bound in ("127.0.0.1", "0.0.0.0"):
        for host in ("chat.example", "CHAT.example.:443", "a.b.github.dev", "github.dev", "10.0.0.7", "[fd00::1]:1"):
            assert (host, (await asked([host], bound=bound, allowed=allowed))[0]) == (host, 200)
        for host in ("a.chat.example", "evil-github.dev", "evil.example", "10.0.0.8", "[fd00::2]"):
            assert (host, (await asked([host], bound=bound, allowed=allowed))[0]) == (host, 403)
        assert (await asked(["localhost"], bound=bound, allowed=allowed))[0] == 200


async def test_a_probe_may_name_the_address_to_which_it_connects() -> None:
    assert (await asked(["10.0.0.9:8000"], bound="0.0.0.0", allowed=["chat.example"]))[0] == 200


@pytest.mark.parametrize(("bound", "behind_proxy"), [("127.0.0.1", True), ("0.0.0.0", False), ("::", False)])
async def test_every_name_is_answered_behind_a_proxy_and_beyond_loopback(bound: str, behind_proxy: bool) -> None:
    for hosts in (["evil.example"], [], ["10.0.0.7:80"]):
        assert (await asked(hosts, bound=bound, behind_proxy=behind_proxy))[0] == 200


@pytest.mark.parametrize("name", ["https://chat.example", "*", "*.example", "", ".", "a b", "::1"])
def test_what_is_no_name_cannot_be_allowed(name: str) -> None:
    with listener("127.0.0.1") as sock, pytest.raises(StreamProtocolError, match="is not a host name"):
        only_allowed_hosts(PlainTextResponse("Hello."), sock, [name])


def test_an_address_that_others_reach_says_what_that_means() -> None:
    for bound, shown in (("0.0.0.0", "0.0.0.0"), ("::", "[::]")):
        with listener(bound) as sock:
            address = f"{shown}:{sock.getsockname()[1]}"
            told = "is one and the same user, who reads, continues and deletes all chats"
            assert exposure_warning(sock) == f"everybody who reaches {address} {told}"
    for bound in ("127.0.0.1", "::1", "::ffff:127.0.0.1"):
        with listener(bound) as sock:
            assert exposure_warning(sock) is None
