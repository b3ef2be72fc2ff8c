"""Measures work without a clock."""

import gc
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import CodeType, FrameType

import stream_protocol

OURS = str(Path(stream_protocol.__file__).parent)


def calls_made(work: Callable[[], object]) -> int:
    """The number of our functions that this work calls, and of the interpreter's functions that they call
    themselves.
    """
    return len(_calls(work, {"call", "c_call"}))


def functions_called(work: Callable[[], object], *, folder: str) -> set[str]:
    """The names of the functions in a folder of ours that this work calls."""
    return {code.co_name for code in _calls(work, {"call"}) if Path(OURS, folder) == Path(code.co_filename).parent}


def _calls(work: Callable[[], object], kinds: Collection[str]) -> list[CodeType]:
    """Our functions that are called, and that call.

    What a collection of garbage would call in the middle, ours or not, is no part of the work.
    """
    calls: list[CodeType] = []

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event in kinds and frame.f_code.co_filename.startswith(OURS):
            calls.append(frame.f_code)

    collecting = gc.isenabled()
    gc.disable()
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)
        if collecting:
            gc.enable()
    return calls
