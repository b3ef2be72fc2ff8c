"""Reads and changes stored chats. Each chat is an ADK session.

Where to change what:

- ``_sessions``: finds, creates, changes and deletes the session of a chat.
- ``_chat_store``: reads sessions with a time limit, and limits the concurrent reads of a user.
- ``_chat_list``: the list of a user's chats, with titles.
- ``_chat_cursor``: the pages of the list of chats.
- ``_chat_details``: titles and archive marks that users set (``PATCH``).
- ``_page_writes``: session state that the client has written and that no run has stored yet.
- ``_artifacts``: files that are stored as artifacts.
"""

from stream_protocol.serving.chats._artifacts import (
    UNKNOWN_TYPE,
    artifact_content,
    artifact_urls,
    load_artifact,
    load_saved_files,
)
from stream_protocol.serving.chats._chat_details import (
    WITHOUT_EVENTS,
    ChatChanges,
    checked_changes,
    delete_details,
    parse_changes,
    parse_object,
)
from stream_protocol.serving.chats._chat_list import (
    MAX_PAGE_SIZE,
    PAGE_SIZE,
    ChatListPage,
    ListedChat,
    change_chat,
    list_chats,
    title_delta,
)
from stream_protocol.serving.chats._chat_store import ChatKey, ChatStore, chat_key
from stream_protocol.serving.chats._page_writes import PageWrites
from stream_protocol.serving.chats._sessions import (
    Completion,
    create_session,
    delete_session,
    find_session,
    is_overtaken,
    repair_session,
    restore_session,
    rewind_session,
)
