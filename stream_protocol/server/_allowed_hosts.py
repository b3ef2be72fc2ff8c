"""Checks the host name of requests, and warns if other machines can reach the server.

The owner of a domain can point the domain's name to 127.0.0.1 (DNS rebinding). A page of that domain can then read all
responses of a server on the visitor's machine. But the page cannot change the ``Host`` header of its requests.

Starlette's ``TrustedHostMiddleware`` is not used: it reads only the first of several ``Host`` headers, and its error
does not name the setting to change.
"""

import re
import socket
from collections.abc import Collection, Iterable
from typing import Final

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from stream_protocol.serving.base import is_loopback_address
from stream_protocol.serving.http import API_HEADERS
from stream_protocol.serving.telemetry import count_refusal
from stream_protocol.wire import StreamProtocolError, check_callable, check_flag, check_instance, check_texts

_HOST: Final = re.compile(r"(?:(?P<name>[a-z0-9_-]+(?:\.[a-z0-9_-]+)*)\.?|\[(?P<ipv6>[0-9a-f:.]+)\])(?::[0-9]{0,5})?")


def only_allowed_hosts(
    app: ASGIApp, listener: socket.socket, allowed_hosts: Collection[str] = (), *, behind_proxy: bool = False
) -> ASGIApp:
    """Returns the app with a check of the host names in requests. The address of ``listener`` decides which names are
    allowed.

    Loopback names and ``allowed_hosts`` are always allowed. Other names are allowed only if ``allowed_hosts`` is empty,
    and other machines or a proxy can reach the server. Raises ``StreamProtocolError`` for an invalid name.
    """
    check_callable("app", app, ("scope", "receive", "send"), expected="an ASGI app")
    check_listener(listener)
    check_flag("behind_proxy", behind_proxy)
    names = list(check_texts("allowed_hosts", allowed_hosts, expected="a list of host names"))
    if names or (is_on_loopback(listener) and not behind_proxy):
        return AllowedHosts(app, names)
    return app


def check_listener(listener: object) -> None:
    check_instance(
        "listener", listener, socket.socket, "a socket that listens", hint="bind_socket(host, port) makes one"
    )


def is_on_loopback(listener: socket.socket) -> bool:
    """Return True if only this machine can reach the socket."""
    check_listener(listener)
    return is_loopback_address(listener.getsockname()[0])


def exposure_warning(listener: socket.socket) -> str | None:
    """Returns the text of a warning: all visitors of the server share one user's chats. Returns ``None`` if
    ``listener`` has a loopback address.
    """
    if is_on_loopback(listener):
        return None
    host, port = listener.getsockname()[:2]
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"everybody who reaches {address} is one and the same user, who reads, continues and deletes all chats"


class AllowedHosts:
    """ASGI middleware that refuses a request with 403 if its ``Host`` header is not allowed.

    Allowed are loopback names, ``names``, and the IP address to which the client has connected. For example, the health
    check of a load balancer sends the address. An address is safe, because DNS rebinding needs a host name. ``names``:
    host names or addresses, without a port. ``.example.com`` includes all subdomains.
    """

    def __init__(self, app: ASGIApp, names: Iterable[str]) -> None:
        self._app = app
        self._names = frozenset(map(_allowed_name, names))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        hosts = Headers(scope=scope).getlist("host")
        name = _host_name(hosts[0]) if len(hosts) == 1 else None
        if name is not None and self._allows(name, scope):
            await self._app(scope, receive, send)
        else:
            count_refusal("foreign_host")
            await PlainTextResponse(_refusal(name), 403, API_HEADERS)(scope, receive, send)

    def _allows(self, name: str, scope: Scope) -> bool:
        server = scope.get("server")
        return (
            _is_loopback_name(name)
            or name in self._names
            or (server is not None and name == server[0])
            or any(allowed.startswith(".") and f".{name}".endswith(allowed) for allowed in self._names)
        )


def _refusal(name: str | None) -> str:
    if name is None:
        return "The request does not name one host: this server answers to localhost, and to what --allowed-host names."
    shown = f"[{name}]" if ":" in name else name
    return f"This server does not answer to the name {shown}: if it is its own, start it with --allowed-host {shown}."


def _host_name(host: str) -> str | None:
    """Return the name or address in a ``Host`` header, in lower case, without port and final dot. Returns ``None`` for
    an invalid header.
    """
    match = _HOST.fullmatch(host.lower())
    return match and (match["name"] or match["ipv6"])


def _allowed_name(text: str) -> str:
    """Return an allowed name in lower case, without port and final dot. Raises ``StreamProtocolError`` for an invalid
    name.
    """
    name = _host_name(text.removeprefix("."))
    if name is None:
        raise StreamProtocolError(
            f"{text!r} is not a host name: write chat.example, or .chat.example for all below it."
        )
    return f".{name}" if text.startswith(".") else name


def _is_loopback_name(name: str) -> bool:
    """Return True for ``localhost``, its subdomains, and loopback addresses. Subdomains of ``localhost`` are safe,
    because browsers resolve them without DNS (RFC 6761).
    """
    return name == "localhost" or name.endswith(".localhost") or is_loopback_address(name)
