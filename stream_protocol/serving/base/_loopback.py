"""Provides ``is_loopback_address``."""

from ipaddress import IPv6Address, ip_address


def is_loopback_address(text: str) -> bool:
    """Return True if the text is a loopback address, such as ``127.0.0.1`` or ``::1``."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback
