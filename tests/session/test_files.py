import base64
from random import Random
from urllib.parse import unquote_to_bytes

import pytest

from stream_protocol.session import FilePolicy, InlineFile, _files, read_file
from stream_protocol.session._files import DECODED_PIECE, MAX_FILE_BYTES, MAX_LINK_LENGTH, LinkedFile
from stream_protocol.wire import ChatRequestError, FilePart, StreamProtocolError


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


def test_a_data_url_is_decoded_in_pieces_as_python_decodes_it(rng: Random, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(300):
        monkeypatch.setattr(_files, "DECODED_PIECE", rng.choice([4, 8, 64]))
        text = "".join(rng.choice("%%%%0aAfFgG=\n\r \t_+zé\x00") for _ in range(rng.randrange(30)))
        data = read_file(part(f"data:,{text}"))
        assert isinstance(data, InlineFile)
        assert data.data == unquote_to_bytes(text)
        there = rng.randbytes(rng.randrange(40))
        data = read_file(part(f"data:;base64,{base64.b64encode(there).decode()}"))
        assert isinstance(data, InlineFile)
        assert data.data == there


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


def unreadable() -> list[tuple[str, str, int]]:
    """Return URLs, some of them 100 MB long, with their media type and the expected status."""
    return [
        ("file:///etc/passwd", "text/plain", 422),
        ("javascript:alert(1)", "text/plain", 422),
        ("blob:https://page/1", "image/png", 422),
        ("gs://bucket/a", "image/png", 422),
        ("", "image/png", 422),
        ("https://", "image/png", 422),
        ("https://[", "image/png", 422),
        ("https://example.com/" + "a" * MAX_LINK_LENGTH, "image/png", 422),
        ("data:,x", "image/" + "a" * 1000, 415),
        ("data:," + "%41" * (MAX_FILE_BYTES + 1), "image/png", 413),
        ("data:;base64," + "A" * (DECODED_PIECE - 4) + "AA==" + "AAAA", "image/png", 422),
        ("data:image/png;base64", "image/png", 422),
        ("data:image/png;base64,%%%", "image/png", 422),
        ("data:image/png;base64,aGk=aGk=", "image/png", 422),
        ("data:,x", "nonsense", 415),
        ("https://example.com/a", "image/*", 415),
        ("data:image/png;base64," + base64.b64encode(b"x" * (MAX_FILE_BYTES + 1)).decode(), "image/png", 413),
    ]


@pytest.mark.slow
def test_what_must_not_or_cannot_be_read_is_refused(subtests: pytest.Subtests) -> None:
    for url, media_type, status in unreadable():
        with subtests.test(url=url[:40], media_type=media_type[:40]), pytest.raises(ChatRequestError) as refused:
            read_file(part(url, media_type))
        assert refused.value.status == status


PICTURE = InlineFile(media_type="image/png", data=b"12345", name=None)
LINK = LinkedFile(media_type="application/pdf", url="HTTPS://example.com/a.pdf", name=None)


def test_by_default_all_that_a_browser_can_send_is_taken() -> None:
    FilePolicy().check(["look", PICTURE, LINK])


@pytest.mark.parametrize(
    ("policy", "file", "status"),
    [
        (FilePolicy(schemes=frozenset({"data"})), LINK, 422),
        (FilePolicy(schemes=frozenset({"https"})), PICTURE, 422),
        (FilePolicy(schemes=frozenset()), PICTURE, 422),
        (FilePolicy(media_types=("image/*",)), LINK, 415),
        (FilePolicy(media_types=("image/jpeg", "text/*")), PICTURE, 415),
        (FilePolicy(media_types=()), PICTURE, 415),
        (FilePolicy(max_bytes=4), PICTURE, 413),
    ],
)
def test_what_the_app_does_not_take_is_refused(policy: FilePolicy, file: InlineFile | LinkedFile, status: int) -> None:
    with pytest.raises(ChatRequestError) as refused:
        policy.check(["look", file])
    assert refused.value.status == status
    assert str(refused.value).endswith(".")


def test_what_the_app_takes_passes() -> None:
    FilePolicy(schemes=frozenset({"data"}), media_types=("image/*",), max_bytes=5).check([PICTURE])


def test_a_policy_cannot_widen_what_is_refused_before_it_is_asked() -> None:
    with pytest.raises(StreamProtocolError, match="file"):
        FilePolicy(schemes=frozenset({"data", "file"}))
    with pytest.raises(StreamProtocolError, match="max_bytes"):
        FilePolicy(max_bytes=2**30)
