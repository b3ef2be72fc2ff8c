import { type ExternalStoreThreadListAdapter, ThreadListItemPrimitive, ThreadListPrimitive } from "@assistant-ui/react";
import { useCallback, useEffect, useState } from "react";
import { openChat } from "./App";
import { deleteChat, listChats, type ListedChat } from "./server";

/** The user's chats, as assistant-ui's list of threads. */
export function useChats(current: string): { adapter: ExternalStoreThreadListAdapter; reload: () => Promise<void> } {
  const [chats, setChats] = useState<ListedChat[]>([]);
  const reload = useCallback(async () => setChats(await listChats()), []);
  useEffect(() => void reload(), [reload]);
  const isNew = chats.every(({ id }) => id !== current);
  return {
    reload,
    adapter: {
      threadId: current,
      threads: [...(isNew ? [{ id: current, title: "New chat" }] : []), ...chats].map(({ id, title }) => ({ status: "regular", id, title })),
      onSwitchToNewThread: () => openChat(),
      onSwitchToThread: openChat,
      onDelete: async (id) => {
        await deleteChat(id);
        await reload();
        if (id === current) openChat();
      },
    },
  };
}

export function Chats() {
  return (
    <ThreadListPrimitive.Root className="chats" role="navigation" aria-label="Chats">
      <ThreadListPrimitive.New>New chat</ThreadListPrimitive.New>
      <ThreadListPrimitive.Items components={{ ThreadListItem: Item }} />
    </ThreadListPrimitive.Root>
  );
}

function Item() {
  return (
    <ThreadListItemPrimitive.Root className="listed">
      <ThreadListItemPrimitive.Trigger className="title">
        <ThreadListItemPrimitive.Title fallback="Untitled" />
      </ThreadListItemPrimitive.Trigger>
      <ThreadListItemPrimitive.Delete aria-label="Delete">×</ThreadListItemPrimitive.Delete>
    </ThreadListItemPrimitive.Root>
  );
}
