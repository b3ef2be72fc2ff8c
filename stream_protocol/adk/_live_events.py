"""Read events of live (bidirectional) runs with speech. ADK's format:

- Transcribed speech is in events without content: ``input_transcription`` is the user's speech,
  ``output_transcription`` the agent's. Fragments may come before the finished event with the whole text.
- The sound is in ``inline_data`` with raw samples, or in an artifact to which the event refers.
- ``interrupted`` or ``turn_complete`` marks the end of the agent's turn.

ADK up to 1.18 sets neither ``partial`` for fragments nor ``finished`` for the whole text.
"""

from typing import TYPE_CHECKING, Final

from stream_protocol.adk._call_index import USER
from stream_protocol.adk._relayed_events import unwrap_a2a

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import Part

RAW_AUDIO: Final = "audio/pcm"
"""The media type of raw audio samples, without its parameters. Browsers cannot play such samples as a file."""

_SAVED_SOUND: Final = "/_adk_live/"


def is_live_sound(part: "Part") -> bool:
    """Return True if the part is sound of a live run. Return False for audio files and all other parts."""
    blob, reference = part.inline_data, part.file_data
    if blob is not None:
        return (blob.mime_type or "").lower().startswith(RAW_AUDIO)
    uri = (reference.file_uri or "") if reference is not None else ""
    return uri.startswith("artifact://") and _SAVED_SOUND in uri


def without_sound(event: "Event") -> "Event":
    """Return the event without the sound of a live run. An event without sound is returned unchanged."""
    content = event.content
    parts = content.parts if content is not None else None
    if content is None or not parts or not any(map(is_live_sound, parts)):
        return event
    heard = [part for part in parts if not is_live_sound(part)]
    return event.model_copy(update={"content": content.model_copy(update={"parts": heard}) if heard else None})


def readable_event(event: "Event") -> "Event":
    """Return the event with the user's speech and the messages of agents behind A2A as ordinary content.

    The transcription of the user's speech becomes the content. If it is only a fragment of the speech, the event
    becomes a fragment. Sound of live runs is removed. Any other event is returned unchanged.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or event.content is not None or event.output_transcription is not None:
        return unwrap_a2a(without_sound(event))
    # In older ADK versions, the author of the user's speech is the agent that hears it.
    content = {"role": USER, "parts": [{"text": speech.text}]}
    spoken = type(event).model_validate({"author": USER, "content": content}).content
    changed = {"author": USER, "content": spoken, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)
