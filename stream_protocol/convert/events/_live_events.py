"""Events of live (bidirectional) runs, in which people speak. As ADK gives them:

* What the user said is the ``input_transcription`` of events without content. Pieces come first, then one event that
  is finished and repeats the whole; or only that one. The same for the agent, as ``output_transcription``.
* The sound itself is ``inline_data`` with raw samples, or a reference to an artifact that ADK saved of it.
* ``interrupted`` and ``turn_complete`` tell how the agent's turn ended.

ADK up to 1.18 does not mark the pieces as ``partial``, and leaves ``finished`` out.
"""

from typing import TYPE_CHECKING, Final

from stream_protocol.convert.events._authors import is_user_event

if TYPE_CHECKING:
    from google.adk.events import Event
    from google.genai.types import Part

RAW_AUDIO: Final = "audio/pcm"
"""The media type of samples, with a rate behind it. No browser plays them as a file."""

_SAVED_SOUND: Final = "/_adk_live/"


def is_live_sound(part: "Part") -> bool:
    """Whether the part is the sound of a live run and no file."""
    blob, reference = part.inline_data, part.file_data
    if blob is not None:
        return (blob.mime_type or "").lower().startswith(RAW_AUDIO)
    uri = (reference.file_uri or "") if reference is not None else ""
    return uri.startswith("artifact://") and _SAVED_SOUND in uri


def readable_event(event: "Event") -> "Event":
    """The event with the user's speech as its content, a piece of it as a fragment; and without the sound of live runs.

    Any other event is given back as it is. The agent's speech is left as it is, too.
    """
    fields = event.__dict__
    if (speech := fields["input_transcription"]) is not None and speech.text and is_user_event(event):
        from google.genai.types import Content, Part

        content = Content(role="user", parts=[Part(text=speech.text)])
        changed = {"content": content, "input_transcription": None, "partial": not speech.finished or None}
        return event.model_copy(update=changed)
    content = fields["content"]
    parts = content.parts if content is not None else None
    if not parts or not any(map(is_live_sound, parts)):
        return event
    heard = [part for part in parts if not is_live_sound(part)]
    return event.model_copy(update={"content": content.model_copy(update={"parts": heard}) if heard else None})
