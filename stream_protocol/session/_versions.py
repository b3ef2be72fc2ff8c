"""The versions of messages that a page can show and choose: earlier answers, and the user's words before an edit."""

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
    """The versions of one message that has more than one."""

    messageId: str
    """The message: the user's if it was edited, the assistant's if it was generated again."""
    current: int
    """The index in ``ids`` of the version that the chat shows."""
    ids: list[str]
    """The ids of the versions, oldest first. Only ``ChatService.choose_version`` takes them."""


def message_versions(transcript: Transcript) -> list[MessageVersions]:
    """The messages of the chat that have several versions, in the order of the chat."""
    return list(_message_versions(transcript))


def rewind_to_choose(transcript: Transcript, version_id: str) -> str | None:
    """The invocation to rewind to, so that the chat goes on from this version; ``None`` if it does already.

    The version comes back with the messages that followed it last. Raises ``ChatRequestError``: 404 if there is no such
    version, 409 if another program made the rewind that took it back, and nothing can undo it.
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
        said = tree.message(number)
        answers = by_words[_words(said)]
        edits = [number if number in same else max(same, key=tree.last_shown) for same in by_words.values()]
        user_message_id = EventMetadata.of(said.event).message_id or said.id
        for message_id, numbers in ((user_message_id, edits), (turn.message_id, answers)):
            if len(numbers) > 1:
                yield {"messageId": message_id, "current": numbers.index(number), "ids": _ids(tree, numbers)}


def _words(said: EventFacts) -> _Words:
    """The user's words. A message that is answered again has the same id and texts."""
    return EventMetadata.of(said.event).message_id, tuple(part.text for part in said.parts if isinstance(part, Text))


def _ids(tree: VersionTree, numbers: Sequence[int]) -> list[str]:
    return [tree.message(number).id for number in numbers]
