"""The attacks, a module for each kind. Importing them registers them."""

from tests.attacks.kinds import answers, bodies, identity, normal, outputs, sockets, storms, unread

__all__ = ["answers", "bodies", "identity", "normal", "outputs", "sockets", "storms", "unread"]
