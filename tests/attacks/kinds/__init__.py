"""Attacks, one module for each kind. Their import registers them."""

from tests.attacks.kinds import answers, bodies, identity, normal, outputs, sockets, storms, unread

__all__ = ["answers", "bodies", "identity", "normal", "outputs", "sockets", "storms", "unread"]
