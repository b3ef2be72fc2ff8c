"""Earlier versions of messages that a client can list and restore: replies, and user messages before an edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias, TypedDict

from stream_protocol.adk import Text
from stream_protocol.session.transcript import EventMetadata
from stream_protocol.wire import ChatRequestError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from stream_protocol.adk import EventFacts
    from stream_protocol.session.transcript import Transcript, VersionTree

_Words: TypeAlias = "tuple[str | None, tuple[str, ...]]"


class MessageVersions(TypedDict):
    """All versions of one message that was edited or regenerated."""

    messageId: str
    """The id of the message in the chat: the user message if it was edited, the assistant message if it was
    regenerated."""
    current: int
    """The index in ``ids`` of the version that is in the chat now."""
    ids: list[str]
    """The ids of the versions, oldest first. Pass such an id to ``ChatService.choose_version``."""


def message_versions(transcript: Transcript) -> list[MessageVersions]:
    """Return the versions of each message that has more than one version, in the order of the chat."""
    return list(_message_versions(transcript))


def rewind_to_choose(transcript: Transcript, version_id: str) -> str | None:
    """Return the id of the invocation to rewind to, so that the chat has this version again.

    Returns ``None`` if the version is already in the chat. The rewind also restores the messages that last followed the
    version. Raises ``ChatRequestError``: 404 if the version does not exist, 409 if no rewind can restore it.
    """
    tree = transcript.version_tree
    number = tree.find(version_id)
    if number is None:
        raise ChatRequestError("There is no such version.", status=404)
    if tree.stands(number):
        return None
    invocation_id = tree.rewind_to_restore(number)
    if invocation_id is None:
        raise ChatRequestError("This version cannot be shown again.", status=409)
    return invocation_id


def _message_versions(transcript: Transcript) -> Iterator[MessageVersions]:
    tree = transcript.version_tree
    for turn in transcript.turns:
        number = tree.find(turn.stored[0].id)
        if number is None or len(versions := tree.versions(number)) == 1:
            continue
        by_words: dict[_Words, list[int]] = {}
        for version in versions:
            by_words.setdefault(_words(tree.message(version)), []).append(version)
        facts = tree.message(number)
        answers = by_words[_words(facts)]
        edits = [number if number in same else max(same, key=tree.last_shown) for same in by_words.values()]
        user_message_id = EventMetadata.of(facts.event).message_id or facts.id
        for message_id, numbers in ((user_message_id, edits), (turn.message_id, answers)):
            if len(numbers) > 1:
                yield {"messageId": message_id, "current": numbers.index(number), "ids": _ids(tree, numbers)}


def _words(facts: EventFacts) -> _Words:
    """Return a key for a user message: the client's id and the texts. A regenerated reply does not change this key."""
    return EventMetadata.of(facts.event).message_id, tuple(part.text for part in facts.parts if isinstance(part, Text))


def _ids(tree: VersionTree, numbers: Sequence[int]) -> list[str]:
    return [tree.message(number).id for number in numbers]
