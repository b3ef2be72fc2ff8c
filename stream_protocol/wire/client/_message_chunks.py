"""Convert a message to chunks. From these chunks, a client builds the same message. So this is the inverse of the
client's reducer.

The chunks are valid for all clients of the major version, so ``toolMetadata``, ``inputEncoding`` and
``resultProviderMetadata`` are left out. For v7, the chunks include citations, and the reason and the descriptor of an
approval. Chunks cannot express a file's name or a part of an unknown type. A text without a ``state`` gets the state
``done``.

For v6, chunks cannot express the user's answer to an approval request. So both the request and the answer are left out,
and the state ``approval-responded`` becomes ``input-available``. If only the answer were left out, the client would
show the approval buttons again.
"""

from typing import Any, cast

import orjson

from stream_protocol.wire._arguments import check_choice, check_mapping
from stream_protocol.wire._chunks import AI_SDK_VERSIONS, AiSdkVersion, AnyChunk
from stream_protocol.wire._errors import StreamProtocolError
from stream_protocol.wire._json_values import json_value, short_json
from stream_protocol.wire._sinks import ChunkSink, DeltaWriter
from stream_protocol.wire._ui_messages import Approval, ToolPart, UIMessage, is_tool_part, tool_name


def message_to_chunks(message: UIMessage, *, ai_sdk: AiSdkVersion = 6) -> list[AnyChunk]:
    """Return chunks from which a client, or ``reduce_chunks``, builds this message.

    The first chunk is ``start``. There is no ``finish``, because more chunks may follow. All steps are ended. A part
    whose state is ``streaming`` is not ended. Raises ``StreamProtocolError`` if the message is not an assistant
    message, or if a part lacks a key that its type needs.
    """
    check_mapping("message", message)
    check_choice("ai_sdk", ai_sdk, AI_SDK_VERSIONS)
    if message.get("role") != "assistant":
        raise StreamProtocolError("Only a message of the assistant can be made from chunks.")
    plain: UIMessage = json_value(message, lossy=True)
    if not isinstance(plain.get("id"), str) or not isinstance(plain.get("parts"), list):
        raise StreamProtocolError("A message needs a text as its id, and a list of parts.")
    sink = ChunkSink()
    sink.start(plain["id"], plain.get("metadata"))
    in_step = False
    for number, part in enumerate(plain["parts"]):
        try:
            if part["type"] == "step-start":
                if in_step:
                    sink.finish_step()
                sink.start_step()
                in_step = True
            elif is_tool_part(part):
                _tool(sink, part, ai_sdk)
            else:
                _content(sink, cast("dict[str, Any]", part), str(number), ai_sdk)
        except (AttributeError, KeyError, TypeError) as error:
            text = f"Part {number + 1} of the message is not a part of a UI message: {short_json(part)}."
            raise StreamProtocolError(text) from error
    if in_step:
        sink.finish_step()
    return sink.take()


def _content(sink: ChunkSink, part: dict[str, Any], part_id: str, ai_sdk: AiSdkVersion) -> None:
    provider = part.get("providerMetadata")
    match part["type"]:
        case "text" | "reasoning":
            _text(sink, part, part_id, ai_sdk)
        case "file":
            sink.file(part["url"], part["mediaType"], provider)
        case "source-url":
            sink.source_url(part["sourceId"], part["url"], part.get("title"), provider)
        case "source-document":
            title, filename = part["title"], part.get("filename")
            sink.source_document(part["sourceId"], part["mediaType"], title, filename, provider)
        case str(kind) if kind.startswith("data-"):
            sink.data(kind.removeprefix("data-"), part["data"], data_id=part.get("id"))
        case kind if ai_sdk == 7:
            _content_of_v7(sink, part, kind)


def _content_of_v7(sink: ChunkSink, part: dict[str, Any], kind: str) -> None:
    provider = part.get("providerMetadata")
    match kind:
        case "reasoning-file":
            sink.reasoning_file(part["url"], part["mediaType"], provider)
        case "custom":
            sink.custom(part["kind"], provider)
        case "steering-message":
            sink.steering_message(part["id"], part["parts"])


def _text(sink: ChunkSink, part: dict[str, Any], part_id: str, ai_sdk: AiSdkVersion) -> None:
    provider, is_text = part.get("providerMetadata"), part["type"] == "text"
    part_id = part_id if is_text else part.get("id", part_id)
    write = (sink.text_start if is_text else sink.reasoning_start)(part_id, provider)
    if part["text"]:
        write(part["text"])
    if part.get("state") == "streaming":
        return
    if is_text:
        sink.text_end(part_id, citations=part.get("citations") if ai_sdk == 7 else None)
    else:
        sink.reasoning_end(part_id)


def _tool(sink: ChunkSink, part: ToolPart, ai_sdk: AiSdkVersion) -> None:
    call_id, state = part["toolCallId"], part["state"]
    is_invalid_input = state == "output-error" and "input" not in part and "rawInput" in part
    if is_invalid_input and not (ai_sdk == 7 and isinstance(part["rawInput"], str)):
        _invalid_input(sink, part, ai_sdk)
        return
    _input(sink, part)
    if _approval(sink, part, ai_sdk) and state in ("input-streaming", "input-available"):
        _input(sink, part)  # sent again, because the approval request has changed the state of the part
    match state:
        case "output-available":
            sink.tool_output_available(call_id, part.get("output"), preliminary=part.get("preliminary", False))
        case "output-error":
            sink.tool_output_error(call_id, part.get("errorText", ""))
        case "output-denied":
            sink.tool_output_denied(call_id)


def _input(sink: ChunkSink, part: ToolPart) -> None:
    raw = part.get("rawInput")
    streams = part["state"] == "input-streaming" or "input" not in part or isinstance(raw, str)
    if not streams:
        sink.tool_input_available(
            part["toolCallId"],
            tool_name(part),
            part["input"],
            dynamic=part["type"] == "dynamic-tool",
            provider_executed=part.get("providerExecuted", False),
            title=part.get("title"),
            provider=part.get("callProviderMetadata"),
        )
        return
    write = _input_start(sink, part)
    if isinstance(raw, str) and raw:
        write(raw)
    elif raw is None and "input" in part:
        write(orjson.dumps(part["input"]).decode())


def _input_start(sink: ChunkSink, part: ToolPart) -> DeltaWriter[AnyChunk]:
    return sink.tool_input_start(
        part["toolCallId"],
        tool_name(part),
        dynamic=part["type"] == "dynamic-tool",
        provider_executed=part.get("providerExecuted", False),
        title=part.get("title"),
        provider=part.get("callProviderMetadata"),
    )


def _invalid_input(sink: ChunkSink, part: ToolPart, ai_sdk: AiSdkVersion) -> None:
    """Write a tool call whose input does not fit the tool's schema. The call begins with ``tool-input-start``, because
    only this chunk can set the title.
    """
    _input_start(sink, part)
    _approval(sink, part, ai_sdk)
    error_text = part.get("errorText", "")
    dynamic = part["type"] == "dynamic-tool"
    sink.tool_input_error(part["toolCallId"], tool_name(part), part["rawInput"], error_text, dynamic=dynamic)


def _approval(sink: ChunkSink, part: ToolPart, ai_sdk: AiSdkVersion) -> bool:
    """Write the approval request of a tool call, and the user's answer if there is one. Returns True if the request was
    written.

    For v6, an answered request is not written, because v6 chunks cannot express the answer.
    """
    approval = part.get("approval")
    if approval is None or (ai_sdk == 6 and "approved" in approval):
        return False
    asked: Approval = approval if ai_sdk == 7 else {"id": approval["id"]}
    sink.tool_approval_request(
        approval["id"], part["toolCallId"], reason=asked.get("requestReason"), descriptor=asked.get("descriptor")
    )
    if "approved" in approval:
        sink.tool_approval_response(approval["id"], approved=approval["approved"], reason=approval.get("reason"))
    return True
