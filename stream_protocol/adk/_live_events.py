"""Events of live (bidirectional) runs, in which people speak. As ADK gives them:

* What the user said is the ``input_transcription`` of events without content. Pieces come first, then one event that
  is finished and repeats the whole; or only that one. The same for the agent, as ``output_transcription``.
* The sound itself is ``inline_data`` with raw samples, or a reference to an artifact that ADK saved of it.
* ``interrupted`` and ``turn_complete`` tell how the agent's turn ended.

ADK up to 1.18 does not mark the pieces as ``partial``, and leaves ``finished`` out.
"""

from typing import TYPE_CHECKING, Final

from stream_protocol.adk._facts import USER
from stream_protocol.adk._relayed_events import unwrap_a2a

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import Part

RAW_AUDIO: Final = "audio/pcm"
"""The media type of samples, with a rate behind it. No browser plays them as a file."""

_SAVED_SOUND: Final = "/_adk_live/"


def is_live_sound(part: "Part") -> bool:
    """Return True if the part is the sound of a live run and not a file."""
    blob, reference = part.inline_data, part.file_data
    if blob is not None:
        return (blob.mime_type or "").lower().startswith(RAW_AUDIO)
    uri = (reference.file_uri or "") if reference is not None else ""
    return uri.startswith("artifact://") and _SAVED_SOUND in uri


def without_sound(event: "Event") -> "Event":
    """The event without the sound of a live run. An event that has none is given back as it is."""
    content = event.content
    parts = content.parts if content is not None else None
    if content is None or not parts or not any(map(is_live_sound, parts)):
        return event
    heard = [part for part in parts if not is_live_sound(part)]
    return event.model_copy(update={"content": content.model_copy(update={"parts": heard}) if heard else None})


def readable_event(event: "Event") -> "Event":
    """The event with the user's speech as its content, a piece of it as a fragment; and without the sound of live runs.
    An event of an agent behind A2A has what that agent said. Older ADKs give speech to the agent that hears it.

    Any other event is given back as it is.
    """
    speech = event.input_transcription
    if speech is None or not speech.text or event.content is not None or event.output_transcription is not None:
        return unwrap_a2a(without_sound(event))
    content = {"role": USER, "parts": [{"text": speech.text}]}
    spoken = type(event).model_validate({"author": USER, "content": content}).content
    changed = {"author": USER, "content": spoken, "input_transcription": None, "partial": not speech.finished or None}
    return event.model_copy(update=changed)
