import pytest

from stream_protocol.session import FilePolicy, InlineFile
from stream_protocol.session._files import LinkedFile
from stream_protocol.wire import ChatRequestError, StreamProtocolError

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
