"""Measures work in function calls, without a clock."""

import gc
import sys
from collections.abc import Callable, Collection
from pathlib import Path
from types import CodeType, FrameType

import stream_protocol

OURS = str(Path(stream_protocol.__file__).parent)


def calls_made(work: Callable[[], object]) -> int:
    """Return the number of calls of our functions, and of interpreter functions that they call directly."""
    return len(_calls(work, {"call", "c_call"}))


def functions_called(work: Callable[[], object], *, folder: str) -> set[str]:
    """Return the names of called functions in a folder of our package."""
    return {code.co_name for code in _calls(work, {"call"}) if Path(OURS, folder) == Path(code.co_filename).parent}


def _calls(work: Callable[[], object], kinds: Collection[str]) -> list[CodeType]:
    """Return our function for each call.

    This is the called function, or the function that calls a function of the interpreter. The garbage collector is off
    during the work, so it is not counted.
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
