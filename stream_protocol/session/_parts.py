"""What a user said -> the part that ADK stores and sends to the model."""

from google.genai import types

from stream_protocol.session._files import InlineFile, LinkedFile, SavedFile, TextOrFile


def said_part(said: TextOrFile) -> types.Part:
    """The part for a text or a file, with the file's name where there is one; the line of one that was not loaded."""
    match said:
        case InlineFile():
            blob = types.Blob(mime_type=said.media_type, data=said.data, display_name=said.name)
            return types.Part(inline_data=blob)
        case LinkedFile():
            link = types.FileData(mime_type=said.media_type, file_uri=said.url, display_name=said.name)
            return types.Part(file_data=link)
        case SavedFile():
            return types.Part(text=said.line)
        case str():
            return types.Part(text=said)
