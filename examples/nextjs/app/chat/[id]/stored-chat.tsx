"use client";

import { Chat } from "@/components/chat/Chat";
import type { StoredChat as Stored } from "@/lib/chat-types";
import { ABOUT } from "../../agent-parts";

/** The chat, as the server has stored it. A new chat has nothing to resume. */
export function StoredChat({ id, messages, versions, stopped }: Stored & { id: string }) {
  return (
    <Chat
      key={id}
      id={id}
      messages={messages}
      versions={versions}
      stopped={stopped}
      about={ABOUT}
      resume={messages.length > 0}
    />
  );
}
