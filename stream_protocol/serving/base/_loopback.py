"""Addresses of this machine alone."""

from ipaddress import IPv6Address, ip_address


def is_loopback_address(text: str) -> bool:
    """Tell whether the text is an address of this machine alone."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.is_loopback
