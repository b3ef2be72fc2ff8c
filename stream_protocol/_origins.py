"""Checks the origins that an app allows in its options."""

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import urlsplit

from stream_protocol.wire import InvalidArgumentError, argument_error, check_texts, shown

ANY_ORIGIN: Final = "*"

UNKNOWN_ORIGIN: Final = "null"
"""The ``Origin`` header of a page in a sandboxed frame, or of a page from a file."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")
_HOST: Final = re.compile(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_OF_SOCKETS: Final = {"ws": "http", "wss": "https"}
"""Scheme of a WebSocket URL -> scheme of the page that opens the WebSocket."""

_ON_THIS_MACHINE: Final = re.compile(r"(?i)localhost(?![\w.-])|[\d.]+(?::|/|\Z)|\[")
"""Pattern for the beginning of hosts that usually have no TLS, such as ``localhost``."""


def check_origins(name: str, origins: object) -> frozenset[str]:
    """Return the origins as a set. Raises ``InvalidArgumentError`` for a text that is not an origin.

    ``name``: the name of the app's option, for the error text.
    """
    if isinstance(origins, str):
        raise argument_error(name, "a list of origins", origins, f"write [{shown(_as_sent(origins) or origins)}]")
    checked = frozenset(check_texts(name, origins, expected="a list of origins"))
    for origin in sorted(checked):
        sent = _as_sent(origin)
        if sent is None:
            raise InvalidArgumentError(f"`{name}` has {shown(origin)}, which is not an origin: {_hint(origin)}.")
        if sent != origin:
            raise InvalidArgumentError(f"`{name}` has {shown(origin)}, which no browser sends: write {shown(sent)}.")
    return checked


def _hint(origin: str) -> str:
    if ANY_ORIGIN in origin:
        return 'name each host, or write "*" for all'
    if not origin.isascii():
        return 'write the host in ASCII as browsers send it, such as "https://xn--bcher-kva.example"'
    return 'write scheme, host and port, such as "https://app.example" or "http://localhost:3000"'


def _as_sent(written: str) -> str | None:
    """Return the origin in the form in which a browser sends it; ``None`` if the text is not an origin."""
    text = written.strip()
    if text == ANY_ORIGIN or text.lower() == UNKNOWN_ORIGIN:
        return text.lower()
    if "://" not in text:
        text = text.lstrip("/")
        text = f"{'http' if _ON_THIS_MACHINE.match(text) else 'https'}://{text}"
    try:
        address = urlsplit(text)
        scheme = _OF_SOCKETS.get(address.scheme, address.scheme)
        host, port = _host_as_sent(address.hostname or ""), address.port
    except ValueError:  # the port or the IP address is invalid
        return None
    if host is None or not _SCHEME.fullmatch(scheme) or address.netloc.endswith(":"):
        return None
    return f"{scheme}://{host}" if port in (None, _DEFAULT_PORTS.get(scheme)) else f"{scheme}://{host}:{port}"


def _host_as_sent(host: str) -> str | None:
    """Return the host in the form in which a browser sends it; ``None`` for an invalid host. Raises ``ValueError`` for
    an invalid IP address.
    """
    if ":" in host:
        address = IPv6Address(host)
        return None if address.scope_id else f"[{address.compressed}]"
    if not _HOST.fullmatch(host):
        return None
    return str(IPv4Address(host)) if host.rpartition(".")[2].isdigit() else host
