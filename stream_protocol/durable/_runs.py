"""Runs as they are kept: the ids and names of their workflows, and what is written in one.

Older releases see no run of a newer one, since its workflow has another name: they could neither read nor execute it.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from stream_protocol.serving.engine import STATES, OrphanedRun, RunRecord, ToldEnd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from dbos import WorkflowStatus

    from stream_protocol.serving.engine import Deployment, ExecutionState, LiveState

FORMAT: Final = 2
"""Of what is kept of a run, and of the names of its calls."""

OLDEST_FORMAT: Final = 1
"""The first one that is read. It had no names of deployments, and its calls of tools had the names of their ids."""

RUN: Final = "adk_ui_stream.run.2"
OLDEST_RUN: Final = "adk_ui_stream.run"
"""The names of the workflow function of a run, since which format."""

PREFIX: Final = "adk-ui-stream.2/"
OLDEST_PREFIX: Final = "adk-ui-stream/"
"""Prefixes of the ids of workflows: of this format, and of the oldest one."""

EXECUTION: Final = "execution "
"""Prefix of the attributes that hold the state of an execution. The rest of the name is the run's id in the log."""

END: Final = "end "
"""Prefix of the attributes that hold the end of an execution, also if its worker notes a live state later."""

ERROR_TEXT: Final = "error"
"""The attribute with the text of the error that the page was told. See ``ToldEnd``."""

SHOWN: Final = "shown"
"""The attribute with the ids of the events that the page was shown before its end. See ``ToldEnd``."""

UNFINISHED: Final = "text"
"""The attribute with the text that the page was shown last, if it is unfinished. See ``ToldEnd``."""

LOG: Final = "log"
"""The attribute with the run's id in the log when it was executed last."""


def run_prefixes(deployment: Deployment) -> list[str]:
    """Return the prefixes of the ids of the deployment's runs, and of releases that named no deployment."""
    return [_deployment_prefix([deployment.app, deployment.run_log, deployment.session_store]), OLDEST_PREFIX]


def chat_prefixes(deployment: Deployment, chat: tuple[str, str]) -> list[str]:
    """The same of one chat: user id, chat id."""
    return [f"{prefix}{_digest([*chat], 32)}/" for prefix in run_prefixes(deployment)]


def workflow_id(record: RunRecord) -> str:
    """The id of a run's workflow. Chats and deployments are in it as hashes: a user's id may be an address."""
    named = record.deployment
    prefix = (
        OLDEST_PREFIX if named is None else _deployment_prefix([named["app"], named["run_log"], named["session_store"]])
    )
    return f"{prefix}{_digest([record.user_id, record.chat_id], 32)}/{record.id}"


def run_of_call(call_id: str) -> str:
    """The id of the run's workflow to which the workflow of a call belongs: see ``workflow_id``."""
    parts = call_id.split("/")
    return "/".join(parts[: 3 if parts[0] == OLDEST_PREFIX.rstrip("/") else 4])


def _deployment_prefix(names: list[str]) -> str:
    return f"{PREFIX}{_digest(names, 16)}/"


def _digest(names: list[str], length: int) -> str:
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()[:length]


@dataclass(frozen=True, kw_only=True)
class KeptRun:
    """The part of a kept run that never changes."""

    record: RunRecord
    version: list[Any]
    """Of the app's agents."""
    log_id: str
    """The run's id in the run log when it was executed first."""
    format: int = FORMAT

    def to_text(self) -> str:
        """The workflow's input."""
        return json.dumps(
            {"format": self.format, "record": self.record.to_json(), "version": self.version, "log": self.log_id}
        )

    @classmethod
    def of(cls, status: WorkflowStatus) -> Self | None:
        """Return what the workflow keeps; ``None`` if a newer release has written it, or nobody knows what."""
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
        """The run with what is known of its executions. The first one is noted when it has ended in order.

        ``None`` if a newer release has noted a state that this one does not know: the run may have ended.
        """
        noted = attributes or {}
        executions: dict[str, ExecutionState] = {self.log_id: "running"}
        for prefix in (EXECUTION, END):
            for name, state in noted.items():
                if name.startswith(prefix):
                    if state not in STATES:
                        return None
                    executions[name.removeprefix(prefix)] = state
        return OrphanedRun(
            record=self.record,
            executions=executions,
            log_id=noted.get(LOG, self.log_id),
            error_text=noted.get(ERROR_TEXT, ""),
            shown=tuple(noted[SHOWN]) if SHOWN in noted else None,
            unfinished_text=noted.get(UNFINISHED, ""),
        )


def execution_attributes(log_id: str, state: LiveState | ToldEnd) -> dict[str, Any]:
    """Return the change of a workflow's attributes that notes the state of one execution."""
    name = f"{EXECUTION}{log_id}"
    if not isinstance(state, ToldEnd):
        return {name: state}
    error = {ERROR_TEXT: state.error_text} if state.error_text else {}
    shown = {SHOWN: list(state.shown)} if state.shown is not None else {}
    text = {UNFINISHED: state.unfinished_text} if state.unfinished_text else {}
    return {name: state.state, f"{END}{log_id}": state.state, **error, **shown, **text}
