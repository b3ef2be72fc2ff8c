"""What the user says in a live (bidirectional) run: the same as what a user writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.genai.types import Content, Part

from stream_protocol.adk import USER, as_said, without_sound

if TYPE_CHECKING:
    from google.adk.events import Event


def readable_event(event: Event) -> Event:
    """The event with the user's speech as its content, a piece of it as a fragment; and without the sound of live runs.
    An event of an agent behind A2A has what that agent said. Older ADKs give speech to the agent that hears it.

    Any other event is given back as it is.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or event.content is not None or event.output_transcription is not None:
        return as_said(without_sound(event))
    content = Content(role="user", parts=[Part(text=speech.text)])
    changed = {"author": USER, "content": content, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)
