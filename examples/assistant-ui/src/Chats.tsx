import {
  type ExternalStoreThreadListAdapter,
  ThreadListItemPrimitive,
  ThreadListPrimitive,
  useAui,
  useAuiState,
} from "@assistant-ui/react";
import { useCallback, useEffect, useState } from "react";
import { openChat } from "./App";
import { deleteChat, listChats, type ListedChat, updateChat } from "./server";

/** The user's chats, as assistant-ui's list of threads. */
export function useChats(current: string): { adapter: ExternalStoreThreadListAdapter; reload: () => Promise<void> } {
  const [chats, setChats] = useState<ListedChat[]>([]);
  const reload = useCallback(async () => setChats(await listChats()), []);
  useEffect(() => void reload(), [reload]);
  const update = async (id: string, changes: { title?: string | null; archived?: boolean }) => {
    await updateChat(id, changes);
    await reload();
  };
  const isNew = chats.every(({ id }) => id !== current);
  const regular = chats.filter(({ archived }) => !archived);
  return {
    reload,
    adapter: {
      threadId: current,
      threads: [...(isNew ? [{ id: current, title: "New chat" }] : []), ...regular].map((chat) => ({
        status: "regular",
        id: chat.id,
        title: chat.title ?? undefined,
      })),
      archivedThreads: chats
        .filter(({ archived }) => archived)
        .map((chat) => ({ status: "archived", id: chat.id, title: chat.title ?? undefined })),
      onSwitchToNewThread: () => openChat(),
      onSwitchToThread: openChat,
      onRename: (id, title) => update(id, { title: title || null }),
      onArchive: (id) => update(id, { archived: true }),
      onUnarchive: (id) => update(id, { archived: false }),
      onDelete: async (id) => {
        await deleteChat(id);
        await reload();
        if (id === current) openChat();
      },
    },
  };
}

export function Chats() {
  const hasArchived = useAuiState(({ threads }) => threads.archivedThreadIds.length > 0);
  return (
    <ThreadListPrimitive.Root className="chats" role="navigation" aria-label="Chats">
      <ThreadListPrimitive.New>New chat</ThreadListPrimitive.New>
      <ThreadListPrimitive.Items components={{ ThreadListItem: Item }} />
      {hasArchived && (
        <details>
          <summary>Archived</summary>
          <ThreadListPrimitive.Items archived components={{ ThreadListItem: ArchivedItem }} />
        </details>
      )}
    </ThreadListPrimitive.Root>
  );
}

function Item() {
  const [renaming, setRenaming] = useState(false);
  if (renaming) return <Rename onDone={() => setRenaming(false)} />;
  return (
    <ThreadListItemPrimitive.Root className="listed">
      <Title />
      <button type="button" aria-label="Rename" onClick={() => setRenaming(true)}>
        ✎
      </button>
      <ThreadListItemPrimitive.Archive aria-label="Archive">↓</ThreadListItemPrimitive.Archive>
      <ThreadListItemPrimitive.Delete aria-label="Delete">×</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}

function ArchivedItem() {
  return (
    <ThreadListItemPrimitive.Root className="listed">
      <Title />
      <ThreadListItemPrimitive.Unarchive aria-label="Unarchive">↑</ThreadListItemPrimitive.Unarchive>
      <ThreadListItemPrimitive.Delete aria-label="Delete">×</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}

function Title() {
  return (
    <ThreadListItemPrimitive.Trigger className="title">
      <ThreadListItemPrimitive.Title fallback="Untitled" />
    </ThreadListItemPrimitive.Trigger>
  );
}

function Rename({ onDone }: { onDone: () => void }) {
  const aui = useAui();
  const title = useAuiState(({ threadListItem }) => threadListItem.title);
  return (
    <form
      className="listed"
      onSubmit={(event) => {
        event.preventDefault();
        aui.threadListItem().rename(String(new FormData(event.currentTarget).get("title")).trim());
        onDone();
      }}
    >
      <input className="title" name="title" aria-label="Title" autoFocus maxLength={200} defaultValue={title} onBlur={onDone} />
    </form>
  );
}
