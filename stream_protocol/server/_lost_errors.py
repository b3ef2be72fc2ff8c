"""Errors that nobody has caught, as records of the log. Python prints them as text, with all that they say."""

import logging
import sys
import threading
from types import TracebackType

logger = logging.getLogger(__name__)


def log_lost_errors() -> None:
    """Logs what ends a thread or the process, and what is raised where nobody can catch it, as in ``__del__``.

    A hook that somebody else has set stays.
    """
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _end_of_thread
    if sys.unraisablehook is sys.__unraisablehook__:
        sys.unraisablehook = _not_raised
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _end_of_process


def _end_of_thread(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None and not isinstance(args.exc_value, SystemExit):
        logger.error("An error has ended a thread.", exc_info=args.exc_value)


def _not_raised(unraisable: "sys.UnraisableHookArgs") -> None:
    if unraisable.exc_value is not None:
        logger.error("An error could not be raised.", exc_info=unraisable.exc_value)


def _end_of_process(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if isinstance(error, KeyboardInterrupt):
        sys.__excepthook__(kind, error, trace)
    else:
        logger.critical("An error has ended the process.", exc_info=error)
