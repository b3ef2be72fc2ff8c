"""The memory of all requests together: refusals, waiting requests, and its release."""

from __future__ import annotations

import asyncio
import gc

import pytest

from stream_protocol.serving.base._byte_budget import UNCOUNTED_BYTES, ByteBudget
from stream_protocol.wire import ChatRequestError

MIB = 2**20


def budget(limit: int | None = 10 * MIB, *, single_fits: bool = True) -> ByteBudget:
    return ByteBudget(
        limit,
        of_user=lambda: ChatRequestError("yours", status=429),
        of_all=lambda: ChatRequestError("all", status=503),
        single_fits=single_fits,
    )


def status(of: ByteBudget, user: str, count: int) -> int | None:
    """The status of a refusal; ``None`` if there is room."""
    before = of.taken
    with of.share(user) as share:
        try:
            share.take(count)
        except ChatRequestError as refused:
            assert of.taken == before
            return refused.status
    return None


def test_a_user_has_half_and_all_users_have_the_whole() -> None:
    bytes_ = budget(single_fits=False)
    with bytes_.share("ann") as ann, bytes_.share("bob") as bob:
        ann.take(4 * MIB)
        assert status(bytes_, "ann", 2 * MIB) == 429
        bob.take(5 * MIB)
        assert status(bytes_, "eve", 2 * MIB) == 503
        assert status(bytes_, "eve", MIB) is None
    assert bytes_.taken == 0
    assert status(bytes_, "ann", 6 * MIB) == 429


def test_a_single_request_of_a_user_may_have_more_than_half_and_the_only_one_any_size() -> None:
    bytes_ = budget()
    with bytes_.share("ann") as ann:
        ann.take(100 * MIB)
        assert (status(bytes_, "ann", MIB), status(bytes_, "bob", MIB)) == (429, 503)
    with bytes_.share("ann") as ann:
        ann.take(7 * MIB)
        assert (status(bytes_, "bob", 3 * MIB), status(bytes_, "bob", 4 * MIB)) == (None, 503)


def test_small_requests_are_served_however_full_it_is() -> None:
    bytes_ = budget()
    with bytes_.share("ann") as ann:
        ann.take(100 * MIB)
        taken = bytes_.taken
        for user in ("ann", "bob"):
            with bytes_.share(user) as small:
                small.take(UNCOUNTED_BYTES - 1)
                small.take(1)
                assert bytes_.taken == taken
                with pytest.raises(ChatRequestError):
                    small.take(1)


def test_without_a_limit_all_is_taken() -> None:
    bytes_ = budget(None)
    with bytes_.share("ann") as ann:
        ann.take(10**12)
        assert status(bytes_, "ann", 10**12) is None


def test_bytes_that_are_handed_over_are_given_back_by_the_heir_alone() -> None:
    bytes_ = budget()
    with bytes_.share("ann") as share:
        share.take(3 * MIB)
        heir = share.handed_over()
    assert bytes_.taken == 3 * MIB - UNCOUNTED_BYTES
    heir.release()
    heir.release()
    assert bytes_.taken == 0


def test_a_share_that_nobody_refers_to_is_given_back_without_a_collection() -> None:
    bytes_ = budget()
    gc.disable()
    try:
        share = bytes_.share("ann")
        share.take(3 * MIB)
        del share
        assert bytes_.taken == 0
    finally:
        gc.enable()


async def test_a_request_waits_for_room_until_its_time_is_over() -> None:
    bytes_ = budget()
    with bytes_.share("ann") as first, bytes_.share("ann") as second:
        first.take(4 * MIB)
        waiting = asyncio.create_task(second.wait_for_room(4 * MIB, 60))
        await asyncio.sleep(0)
        assert (waiting.done(), second.has_room(4 * MIB)) == (False, False)
        first.release()
        await waiting
        assert second.has_room(4 * MIB)
        first.take(4 * MIB)
        for seconds in (0.01, -1):
            await second.wait_for_room(4 * MIB, seconds)
            with pytest.raises(ChatRequestError, match="yours"):
                second.take(4 * MIB)
        first.release()
        await second.wait_for_room(4 * MIB, -1)  # there is room: no time is needed
    assert bytes_.taken == 0
