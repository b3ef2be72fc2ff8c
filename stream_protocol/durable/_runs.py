"""The form in which a run is stored: the ids, names and content of its DBOS workflows.

If this form changes, the workflow names change, too. So an older release does not find runs that it cannot read.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, get_args

from stream_protocol.serving.engine import LiveState, OrphanedRun, RunRecord, ToldEnd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from dbos import WorkflowStatus

    from stream_protocol.serving.engine import Deployment, ExecutionState
    from stream_protocol.stream import Ending

FORMAT: Final = 2
"""The version of the stored form of a run, and of the names of its calls."""

OLDEST_FORMAT: Final = 1
"""The oldest stored format that this release reads. Its runs have no deployment name, and its tool calls are named by
their ids."""

RUN: Final = "adk_ui_stream.run.2"
OLDEST_RUN: Final = "adk_ui_stream.run"
"""The name of a run's workflow function in the oldest stored format."""

PREFIX: Final = "adk-ui-stream.2/"
OLDEST_PREFIX: Final = "adk-ui-stream/"
"""The prefix of workflow ids in the oldest stored format."""

EXECUTION: Final = "execution "
"""Prefix, before an execution's run-log id, of a workflow attribute with the state of this execution."""

END: Final = "end "
"""Like ``EXECUTION``, for the end of an execution. A ``LiveState`` that is stored later does not replace this
attribute."""

ERROR_TEXT: Final = "error"
"""Name of the workflow attribute with the client's error text. See ``ToldEnd``."""

SHOWN: Final = "shown"
"""Name of the workflow attribute with the ids of the shown events. See ``ToldEnd``."""

UNFINISHED: Final = "text"
"""Name of the workflow attribute with the unfinished text that the client saw. See ``ToldEnd``."""

ENDS: Final[Mapping[Ending, str]] = {"abort": "stopped", "error": "failed", "timeout": "timeout"}
"""The stored name of each end of an execution. Released versions use these names, so the names must not change."""

STATES: Final[Mapping[str, ExecutionState]] = {
    **{state: state for state in get_args(LiveState)},
    **{name: end for end, name in ENDS.items()},
}
"""The states of an execution by their stored names. Runs with other names, from a newer release, are ignored."""

LOG: Final = "log"
"""Name of the workflow attribute with the run-log id of the run's newest execution."""


def run_prefixes(deployment: Deployment) -> list[str]:
    """Return prefixes of workflow ids. The id of each run of the deployment begins with one of them, even if an older
    release has stored the run.
    """
    return [_deployment_prefix([deployment.app, deployment.run_log, deployment.session_store]), OLDEST_PREFIX]


def chat_prefixes(deployment: Deployment, chat: tuple[str, str]) -> list[str]:
    """Return prefixes of workflow ids. The id of each run of the chat begins with one of them. ``chat``: the user id
    and the chat id.
    """
    return [f"{prefix}{_digest([*chat], 32)}/" for prefix in run_prefixes(deployment)]


def workflow_id(record: RunRecord) -> str:
    """Return the id of a run's workflow. The id contains hashes of user, chat and deployment, because a user id may be
    an email address.
    """
    named = record.deployment
    prefix = (
        OLDEST_PREFIX if named is None else _deployment_prefix([named["app"], named["run_log"], named["session_store"]])
    )
    return f"{prefix}{_digest([record.user_id, record.chat_id], 32)}/{record.id}"


def run_of_call(call_id: str) -> str:
    """Return the workflow id of a run. ``call_id``: the workflow id of one of the run's model or tool calls."""
    parts = call_id.split("/")
    return "/".join(parts[: 3 if parts[0] == OLDEST_PREFIX.rstrip("/") else 4])


def _deployment_prefix(names: list[str]) -> str:
    return f"{PREFIX}{_digest(names, 16)}/"


def _digest(names: list[str], length: int) -> str:
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:length]


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """The part of a stored run that does not change after the run's start."""

    record: RunRecord
    version: list[Any]
    """The version of the app's agents."""
    log_id: str
    """The run-log id of the run's first execution."""
    format: int = FORMAT

    def to_text(self) -> str:
        """Return this run as JSON text, which is the input of the run's workflow."""
        return json.dumps(
            {"format": self.format, "record": self.record.to_json(), "version": self.version, "log": self.log_id}
        )

    @classmethod
    def of(cls, status: WorkflowStatus) -> Self | None:
        """Return the run that a workflow stores. Returns ``None`` if the stored run is invalid, or was stored by a
        newer release.
        """
        if status.input is None:
            return None
        try:
            kept = json.loads(status.input["args"][0])
            number = kept.get("format", OLDEST_FORMAT)
            record = RunRecord.from_json(kept["record"])
            version = kept["version"] if number > OLDEST_FORMAT else json.loads(kept["version"])[1:]
            log_id = kept["log"]
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            return None
        if record is None or number > FORMAT:
            return None
        return cls(record=record, version=version, log_id=log_id, format=number)

    def with_attributes(self, attributes: Mapping[str, Any] | None) -> OrphanedRun | None:
        """Return the run with the states of its executions, which are in the workflow's DBOS attributes.

        Returns ``None`` if a newer release has stored a state that this release does not know. The run may have ended.
        """
        noted = attributes or {}
        executions: dict[str, ExecutionState] = {self.log_id: "running"}
        for prefix in (EXECUTION, END):
            for name, state in noted.items():
                if name.startswith(prefix):
                    if state not in STATES:
                        return None
                    executions[name.removeprefix(prefix)] = STATES[state]
        return OrphanedRun(
            record=self.record,
            executions=executions,
            log_id=noted.get(LOG, self.log_id),
            error_text=noted.get(ERROR_TEXT, ""),
            shown=tuple(noted[SHOWN]) if SHOWN in noted else None,
            unfinished_text=noted.get(UNFINISHED, ""),
        )


def execution_attributes(log_id: str, state: LiveState | ToldEnd) -> dict[str, Any]:
    """Return the DBOS attributes for the state of one execution of a run. ``log_id``: the id of the execution in the
    run log.
    """
    name = f"{EXECUTION}{log_id}"
    if not isinstance(state, ToldEnd):
        return {name: state}
    error = {ERROR_TEXT: state.error_text} if state.error_text else {}
    shown = {SHOWN: list(state.shown)} if state.shown is not None else {}
    text = {UNFINISHED: state.unfinished_text} if state.unfinished_text else {}
    end = ENDS[state.outcome]
    return {name: end, f"{END}{log_id}": end, **error, **shown, **text}
