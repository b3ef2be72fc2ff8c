"""Takes back what was said, as ADK does it: with its state and its artifacts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.adk.events import Event, EventActions
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.adk.runners import Runner
    from google.adk.sessions import Session


async def rewind(runner: Runner, session: Session, invocation_id: str) -> Session | None:
    """Takes back an invocation and all that came after it. Returns the session as it is then."""
    user_id, session_id = session.user_id, session.id
    await runner.rewind_async(user_id=user_id, session_id=session_id, rewind_before_invocation_id=invocation_id)
    rewound = await runner.session_service.get_session(app_name=runner.app_name, user_id=user_id, session_id=session_id)
    if rewound is not None and (lost := _lost_lists(runner, rewound.state)):
        event = Event(author="user", actions=EventActions(state_delta=lost))
        await runner.session_service.append_event(rewound, event)
    return rewound


def _lost_lists(runner: Runner, state: Mapping[str, Any]) -> dict[str, Any]:
    """What ADK's own plugin for uploads cannot do without (2.13).

    A rewind leaves ``None`` for state that came later. That plugin has a list there and adds to it; so the next upload
    would fail.
    """
    plugins = runner.plugin_manager.plugins
    keys = [f"{plugin.name}:pending_delta" for plugin in plugins if isinstance(plugin, SaveFilesAsArtifactsPlugin)]
    return {key: {} for key in keys if state.get(key, {}) is None}
