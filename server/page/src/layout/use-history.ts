import { useEffect, useState } from "react";
import { loadChat } from "../components/chat/chat-api";
import { loadScriptsFor } from "../components/messages/late-scripts";
import { Markdown } from "../components/messages/Markdown";
import { API } from "./host";
import { isBegunHere } from "./chat-id";
import { type StoredChat, textOf } from "../components/chat/message-types";

/** `stored` is there once the server was asked; `missing`: it has no such chat; `error`: why it could not be asked. */
export type History = { stored?: StoredChat; missing?: boolean; error?: string; retry?: () => void };

const NOTHING: History = { stored: { messages: [] } };

/** What the server has stored of a chat that this page has not begun itself. */
export function useHistory(id: string): History {
  const [loaded, setLoaded] = useState<History & { id: string }>();
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (isBegunHere(id)) return;
    let current = true;
    const show = (history: History) => current && setLoaded({ ...history, id });
    // Without its script, a long chat would be drawn twice.
    Promise.all([loadWithScripts(id), Markdown.preload()]).then(
      ([chat]) => show(chat ? { stored: chat } : { ...NOTHING, missing: true }),
      (error: unknown) => show({ error: error instanceof Error ? error.message : String(error) }),
    );
    return () => {
      current = false;
    };
  }, [id, attempt]);
  if (isBegunHere(id)) return NOTHING;
  if (loaded?.id !== id) return {};
  if (loaded.error === undefined) return loaded;
  return {
    ...loaded,
    retry: () => {
      setLoaded(undefined);
      setAttempt(attempt + 1);
    },
  };
}

/** The chat, while the scripts that its texts need are loading. */
async function loadWithScripts(id: string): Promise<StoredChat | undefined> {
  const chat = await loadChat(API, id);
  for (const message of chat?.messages ?? []) loadScriptsFor(textOf(message));
  return chat;
}
