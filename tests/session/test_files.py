import base64

import pytest

from stream_protocol.session import InlineFile, read_file
from stream_protocol.session._files import MAX_FILE_BYTES, LinkedFile
from stream_protocol.wire import ChatRequestError, FilePart


def part(url: str, media_type: str = "image/png") -> FilePart:
    return {"type": "file", "url": url, "mediaType": media_type, "filename": "a.png"}


@pytest.mark.parametrize(
    ("url", "data"),
    [
        ("data:image/png;base64,aGk/", b"hi?"),
        ("data:image/png;base64,aGk_", b"hi?"),
        ("data:image/png;base64,aGk%3D", b"hi"),
        ("data:image/png;base64,aGk", b"hi"),
        ("data:image/png;name=a.png;base64,aGk=", b"hi"),
        ("DATA:image/png;base64,aGk=", b"hi"),
        ("data:image/png,h%69", b"hi"),
        ("data:,", b""),
    ],
)
def test_a_data_url_is_read_in_each_of_its_forms(url: str, data: bytes) -> None:
    assert read_file(part(url)) == InlineFile(media_type="image/png", data=data, name="a.png")


@pytest.mark.parametrize("url", ["https://example.com/a.png?x=1", "http://example.com/a.png"])
def test_a_link_is_kept_as_a_link(url: str) -> None:
    assert read_file(part(url)) == LinkedFile(media_type="image/png", url=url, name="a.png")


@pytest.mark.parametrize(
    ("declared", "url", "found"),
    [
        ("image/png", "data:text/plain,x", "image/png"),
        ("image", "data:image/webp,x", "image/webp"),
        ("image/*", "data:image/webp,x", "image/webp"),
        ("Text/Plain; charset=utf-8", "data:,x", "text/plain"),
    ],
)
def test_the_media_type_is_the_declared_one_or_else_the_urls(declared: str, url: str, found: str) -> None:
    assert read_file(part(url, declared)).media_type == found


@pytest.mark.parametrize(
    ("url", "media_type", "status"),
    [
        ("file:///etc/passwd", "text/plain", 422),
        ("javascript:alert(1)", "text/plain", 422),
        ("blob:https://page/1", "image/png", 422),
        ("gs://bucket/a", "image/png", 422),
        ("", "image/png", 422),
        ("https://", "image/png", 422),
        ("https://[", "image/png", 422),
        ("data:image/png;base64", "image/png", 422),
        ("data:image/png;base64,%%%", "image/png", 422),
        ("data:image/png;base64,aGk=aGk=", "image/png", 422),
        ("data:,x", "nonsense", 415),
        ("https://example.com/a", "image/*", 415),
        ("data:image/png;base64," + base64.b64encode(b"x" * (MAX_FILE_BYTES + 1)).decode(), "image/png", 413),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else None,
)
def test_what_must_not_or_cannot_be_read_is_refused(url: str, media_type: str, status: int) -> None:
    with pytest.raises(ChatRequestError) as refused:
        read_file(part(url, media_type))
    assert refused.value.status == status
