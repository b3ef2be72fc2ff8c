"""Read events of live (bidirectional) runs with speech. ADK's format:

* Events without content have the user's speech in ``input_transcription``, and the agent's speech in
  ``output_transcription``. Pieces come first, then a finished event with the whole text. Or there is only the finished
  event.
* The sound is ``inline_data`` with raw samples, or a reference to an artifact in which ADK saved the sound.
* ``interrupted`` or ``turn_complete`` marks the end of the agent's turn.

ADK up to 1.18 neither marks the pieces as ``partial`` nor sets ``finished``.
"""

from typing import TYPE_CHECKING, Final

from stream_protocol.adk._call_index import USER
from stream_protocol.adk._relayed_events import unwrap_a2a

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import Part

RAW_AUDIO: Final = "audio/pcm"
"""The beginning of the media type of raw samples, before the rate. Browsers cannot play such samples as a file."""

_SAVED_SOUND: Final = "/_adk_live/"


def is_live_sound(part: "Part") -> bool:
    """Return True if the part is sound of a live run, not a file."""
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
    """Return the event in a form in which speech and relayed messages are ordinary content.

    The user's speech becomes the content. An event with only a piece of the speech becomes a fragment. Sound of live
    runs is removed. An event of an agent behind A2A gets the content that the agent sent. Any other event is returned
    unchanged.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or event.content is not None or event.output_transcription is not None:
        return unwrap_a2a(without_sound(event))
    # Older ADKs name the agent that hears the speech as its author.
    content = {"role": USER, "parts": [{"text": speech.text}]}
    spoken = type(event).model_validate({"author": USER, "content": content}).content
    changed = {"author": USER, "content": spoken, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)
