"""The settings of the deployed demo, from environment variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from stream_protocol import AiSdkVersion


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The address and the options of the server. The demo agent itself reads ``GOOGLE_API_KEY`` to select its model."""

    host: str = "127.0.0.1"
    port: int = 8000
    ai_sdk: AiSdkVersion = 6
    allow_origins: tuple[str, ...] = ()
    disconnect_grace: float | None = None
    """The number of seconds that a run continues after its client disconnects. With ``None``, the run continues to its
    end, and a reloaded page resumes the response."""

    drain: float = 5.0
    """The number of seconds that runs may continue after SIGTERM. By default, Docker kills the process after 10
    seconds."""

    show_errors: bool = False
    """True if the page shows the cause of an error, to all users."""

    inspect: bool = False
    """True if the page has the Inspector, which is for developers only."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Self:
        """Return the settings in environment variables. Raises ``ValueError`` for an invalid value.

        Variables: ``HOST``, ``PORT``, ``AI_SDK`` (6 or 7), ``ALLOW_ORIGINS`` (comma-separated), ``DISCONNECT_GRACE``
        and ``DRAIN`` (seconds), ``SHOW_ERRORS`` and ``INSPECT`` (0 or 1). An empty ``DISCONNECT_GRACE`` lets runs
        continue to their end.
        """
        return cls(
            host=env.get("HOST", cls.host),
            port=int(env.get("PORT", cls.port)),
            ai_sdk=_ai_sdk(env.get("AI_SDK", "6")),
            allow_origins=tuple(origin.strip() for origin in env.get("ALLOW_ORIGINS", "").split(",") if origin.strip()),
            disconnect_grace=_seconds(env.get("DISCONNECT_GRACE", "")),
            drain=_not_negative("DRAIN", float(env.get("DRAIN", cls.drain))),
            show_errors=_flag("SHOW_ERRORS", env.get("SHOW_ERRORS", "0")),
            inspect=_flag("INSPECT", env.get("INSPECT", "0")),
        )


def _seconds(text: str) -> float | None:
    return float(text) if text else None


def _not_negative(name: str, seconds: float) -> float:
    if not seconds >= 0:  # refuses NaN, too
        raise ValueError(f"{name} must be 0 or more seconds")
    return seconds


def _flag(name: str, text: str) -> bool:
    if text not in {"0", "1"}:
        raise ValueError(f"{name} must be 0 or 1, not {text!r}")
    return text == "1"


def _ai_sdk(text: str) -> AiSdkVersion:
    match text:
        case "6":
            return 6
        case "7":
            return 7
    raise ValueError(f"AI_SDK must be 6 or 7, not {text!r}")
