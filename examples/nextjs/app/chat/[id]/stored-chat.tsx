"use client";

import { useEffect } from "react";
import { Chat } from "@/components/chat/Chat";
import type { About } from "@/components/chat/Welcome";
import type { StoredChat as Stored } from "@/lib/chat-types";
import { ABOUT } from "../../agent-parts";

type StoredChatProps = Stored & { id: string; about: About; missing: boolean };

/** The chat, as the server has stored it. A new chat has nothing to resume. */
export function StoredChat({ id, about, missing, ...stored }: StoredChatProps) {
  useEffect(() => {
    // Remove `?new`: a reload must ask the server for the chat.
    if (window.location.search !== "") window.history.replaceState(null, "", window.location.pathname);
  }, []);
  return (
    <Chat
      key={id}
      id={id}
      stored={stored}
      about={{ ...about, ...ABOUT }}
      missing={missing}
      resume={stored.messages.length > 0}
    />
  );
}
