"""The client's schema for chunks. The client checks each chunk before its reducer applies the chunk.

Mirrors ``ui-message-stream/ui-message-chunks.ts`` of ``vercel/ai``, read at ``ai@6.0.326`` and ``ai@7.0.173``, with zod
4.4 and later. A required key must be present, even if its value may be anything, such as ``null``. Unknown keys are
allowed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Literal

import orjson

from stream_protocol.wire._chunks import AiSdkVersion
from stream_protocol.wire._errors import ClientStreamError
from stream_protocol.wire._json_values import json_value

_MAX_SAFE_INTEGER: Final = 2**53 - 1

Check = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Refusal:
    """The first reason why the client refuses a chunk."""

    why: Literal["no chunk", "unknown type", "missing", "null", "value"]
    key: str = ""
    """The missing or invalid key."""


def refusal(chunk: object, *, ai_sdk: AiSdkVersion) -> Refusal | None:
    """Return the reason why a client of this version refuses the chunk; ``None`` for an accepted chunk."""
    kind = chunk.get("type") if isinstance(chunk, Mapping) else None
    if not isinstance(chunk, Mapping) or not isinstance(kind, str):
        return Refusal("no chunk")
    schema = _SCHEMAS[ai_sdk].get(kind, _data if kind.startswith("data-") else None)
    if schema is None:
        return Refusal("unknown type")
    return None if schema(chunk) else schema.refusal(chunk)


def check_chunk(chunk: object, *, ai_sdk: AiSdkVersion) -> None:
    """Raise ``ClientStreamError`` (``AI_TypeValidationError``) if a client of this version refuses the chunk."""
    if refusal(chunk, ai_sdk=ai_sdk) is None:
        return
    value = orjson.dumps(json_value(chunk, lossy=True)).decode()
    raise ClientStreamError(f"Type validation failed: Value: {value}.", error_class="AI_TypeValidationError")


def _any(_: Any) -> bool:
    return True


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _object(value: Any) -> bool:
    return isinstance(value, Mapping)


def _provider(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(inner, Mapping) for inner in value.values())


def _texts(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(inner, str) for inner in value.values())


def _index(value: Any) -> bool:
    """Return True for an integer from 0 that JavaScript represents exactly. The integer may be a float, such as
    ``3.0``.
    """
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= _MAX_SAFE_INTEGER:
        return False
    return isinstance(value, int) or value.is_integer()


def _one_of(*values: str) -> Check:
    return lambda value: isinstance(value, str) and value in values


def _list_of(check: Check) -> Check:
    return lambda value: isinstance(value, list) and all(check(item) for item in value)


def _either(by: str, **shapes: Check) -> Check:
    """Return a check for objects of several types. ``by``: the key whose value selects the check for the object."""
    return lambda value: (
        isinstance(value, Mapping)
        and isinstance(value.get(by), str)
        and value[by] in shapes
        and shapes[value[by]](value)
    )


class _ObjectSchema:
    """A check for objects. Each keyword argument is the check for the value of one key. For an optional key, the name
    of the argument ends in ``_``.
    """

    def __init__(self, **checks: Check) -> None:
        self._checks = {key.removesuffix("_"): check for key, check in checks.items()}
        self._needed = {key: None for key in checks if not key.endswith("_")}.keys()

    def __call__(self, value: Any) -> bool:
        if not isinstance(value, Mapping) or not self._needed <= value.keys():
            return False
        return all(check(value[key]) for key, check in self._checks.items() if key in value)

    def refusal(self, value: Mapping[str, Any]) -> Refusal:
        """Return the reason why the schema refuses the object. Raises ``ValueError`` if the schema accepts it."""
        for key, check in self._checks.items():
            if key not in value:
                if key in self._needed:
                    return Refusal("missing", key)
            elif not check(value[key]):
                return Refusal("null" if value[key] is None else "value", key)
        raise ValueError("the object is not refused")


_data = _ObjectSchema(data=_any, id_=_text, transient_=_flag)
_open = _ObjectSchema(id=_text, providerMetadata_=_provider)
_delta = _ObjectSchema(id=_text, delta=_text, providerMetadata_=_provider)
_file = _ObjectSchema(url=_text, mediaType=_text, providerMetadata_=_provider)
_step = _ObjectSchema()

_V6_REASONS: Final = ("stop", "length", "content-filter", "tool-calls", "error", "other")

_V6: Final[Mapping[str, _ObjectSchema]] = MappingProxyType(
    {
        "start": _ObjectSchema(messageId_=_text, messageMetadata_=_any),
        "finish": _ObjectSchema(finishReason_=_one_of(*_V6_REASONS), messageMetadata_=_any),
        "abort": _ObjectSchema(reason_=_text),
        "error": _ObjectSchema(errorText=_text),
        "start-step": _step,
        "finish-step": _step,
        "message-metadata": _ObjectSchema(messageMetadata=_any),
        "text-start": _open,
        "text-delta": _delta,
        "text-end": _open,
        "reasoning-start": _open,
        "reasoning-delta": _delta,
        "reasoning-end": _open,
        "source-url": _ObjectSchema(sourceId=_text, url=_text, title_=_text, providerMetadata_=_provider),
        "source-document": _ObjectSchema(
            sourceId=_text, mediaType=_text, title=_text, filename_=_text, providerMetadata_=_provider
        ),
        "file": _file,
        "tool-input-start": _ObjectSchema(
            toolCallId=_text,
            toolName=_text,
            inputEncoding_=_one_of("json", "text"),
            providerExecuted_=_flag,
            providerMetadata_=_provider,
            toolMetadata_=_object,
            dynamic_=_flag,
            title_=_text,
        ),
        "tool-input-delta": _ObjectSchema(toolCallId=_text, inputTextDelta=_text),
        "tool-input-available": _ObjectSchema(
            toolCallId=_text,
            toolName=_text,
            input=_any,
            providerExecuted_=_flag,
            providerMetadata_=_provider,
            toolMetadata_=_object,
            dynamic_=_flag,
            title_=_text,
        ),
        "tool-input-error": _ObjectSchema(
            toolCallId=_text,
            toolName=_text,
            input=_any,
            errorText=_text,
            providerExecuted_=_flag,
            providerMetadata_=_provider,
            toolMetadata_=_object,
            dynamic_=_flag,
            title_=_text,
        ),
        "tool-approval-request": _ObjectSchema(approvalId=_text, toolCallId=_text, signature_=_text),
        "tool-output-available": _ObjectSchema(
            toolCallId=_text,
            output=_any,
            providerExecuted_=_flag,
            providerMetadata_=_provider,
            toolMetadata_=_object,
            dynamic_=_flag,
            preliminary_=_flag,
        ),
        "tool-output-error": _ObjectSchema(
            toolCallId=_text,
            errorText=_text,
            providerExecuted_=_flag,
            providerMetadata_=_provider,
            toolMetadata_=_object,
            dynamic_=_flag,
        ),
        "tool-output-denied": _ObjectSchema(toolCallId=_text),
    }
)

_source = _either(
    "sourceType",
    url=_ObjectSchema(type=_one_of("source"), id=_text, url=_text, title_=_text, providerMetadata_=_provider),
    document=_ObjectSchema(
        type=_one_of("source"), id=_text, mediaType=_text, title=_text, filename_=_text, providerMetadata_=_provider
    ),
)

_V7: Final[Mapping[str, _ObjectSchema]] = MappingProxyType(
    {
        **_V6,
        "finish": _ObjectSchema(finishReason_=_one_of(*_V6_REASONS, "interrupted"), messageMetadata_=_any),
        "text-end": _ObjectSchema(
            id=_text,
            citations_=_list_of(_ObjectSchema(source=_source, startIndex_=_index, endIndex_=_index, citedText_=_text)),
            providerMetadata_=_provider,
        ),
        "tool-approval-request": _ObjectSchema(
            approvalId=_text, toolCallId=_text, signature_=_text, reason_=_text, isAutomatic_=_flag
        ),
        "tool-approval-response": _ObjectSchema(
            approvalId=_text, approved=_flag, reason_=_text, providerExecuted_=_flag, providerMetadata_=_provider
        ),
        "custom": _ObjectSchema(kind=_text, providerMetadata_=_provider),
        "reasoning-file": _file,
        "reset-step": _step,
        "steering-message": _ObjectSchema(
            id=_text,
            parts=_list_of(
                _either(
                    "type",
                    text=_ObjectSchema(text=_text, providerMetadata_=_provider),
                    file=_ObjectSchema(
                        mediaType=_text,
                        url=_text,
                        filename_=_text,
                        providerReference_=_texts,
                        providerMetadata_=_provider,
                    ),
                )
            ),
        ),
    }
)

_SCHEMAS: Final[Mapping[AiSdkVersion, Mapping[str, _ObjectSchema]]] = MappingProxyType({6: _V6, 7: _V7})
