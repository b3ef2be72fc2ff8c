"""What the user says in a live (bidirectional) run: the same as what a user writes."""

from typing import TYPE_CHECKING

from stream_protocol.adk._authors import USER
from stream_protocol.adk._live_events import without_sound
from stream_protocol.adk._relayed_events import as_said

if TYPE_CHECKING:
    from google.adk.events import Event


def readable_event(event: "Event") -> "Event":
    """The event with the user's speech as its content, a piece of it as a fragment; and without the sound of live runs.
    An event of an agent behind A2A has what that agent said. Older ADKs give speech to the agent that hears it.

    Any other event is given back as it is.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or event.content is not None or event.output_transcription is not None:
        return as_said(without_sound(event))
    content = {"role": USER, "parts": [{"text": speech.text}]}
    spoken = type(event).model_validate({"author": USER, "content": content}).content
    changed = {"author": USER, "content": spoken, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)
