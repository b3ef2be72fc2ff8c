"""What the user says in a live (bidirectional) run: the same as what a user writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.genai.types import Content, Part

from stream_protocol.convert import is_user_event, without_sound

if TYPE_CHECKING:
    from google.adk.events import Event


def readable_event(event: Event) -> Event:
    """The event with the user's speech as its content, a piece of it as a fragment; and without the sound of live runs.

    Any other event is given back as it is.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or not is_user_event(event):
        return without_sound(event)
    content = Content(role="user", parts=[Part(text=speech.text)])
    changed = {"content": content, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)
