import { generateId } from "ai";
import { useEffect, useState, useSyncExternalStore } from "react";
import { Chat } from "./chat/Chat";
import { Chats } from "./sidebar/Chats";
import { loadHistory } from "./chat/history";
import type { ChatMessage } from "./chat/message-types";

/** Chats that this page has begun itself: the server has nothing of them to load. */
const begun = new Set<string>();

function freshId(): string {
  const id = generateId();
  begun.add(id);
  return id;
}

function openNewChat(): void {
  window.location.hash = freshId();
}

/** The chat id lives in the URL's hash, so that a reload or a bookmark keeps it. */
function useChatId(): string {
  return useSyncExternalStore(subscribeToHash, chatIdOfUrl);
}

function subscribeToHash(onChange: () => void): () => void {
  window.addEventListener("hashchange", onChange);
  return () => window.removeEventListener("hashchange", onChange);
}

function chatIdOfUrl(): string {
  const id = decodeURIComponent(window.location.hash.slice(1));
  if (id !== "") return id;
  const fresh = freshId();
  window.history.replaceState(null, "", `#${fresh}`);
  return fresh;
}

/** What the server has stored of the chat; `undefined` while it is asked. */
function useHistory(id: string): ChatMessage[] | undefined {
  const [loaded, setLoaded] = useState<{ id: string; messages: ChatMessage[] }>();
  useEffect(() => {
    if (begun.has(id)) return;
    let current = true;
    void loadHistory(id).then((messages) => current && setLoaded({ id, messages }));
    return () => {
      current = false;
    };
  }, [id]);
  if (begun.has(id)) return [];
  return loaded?.id === id ? loaded.messages : undefined;
}

export function App() {
  const id = useChatId();
  const history = useHistory(id);
  const [listing, setListing] = useState(false);
  return (
    <div className="app">
      <header className="bar">
        <h1>
          ADK chat <span className="faint">over the AI SDK</span>
        </h1>
        <div className="buttons">
          <button type="button" aria-haspopup="dialog" onClick={() => setListing(true)}>
            Chats
          </button>
          <button type="button" onClick={openNewChat}>
            New chat
          </button>
        </div>
      </header>
      {listing && <Chats current={id} onClose={() => setListing(false)} onGone={openNewChat} />}
      {history && <Chat key={id} id={id} messages={history} resume={!begun.has(id)} />}
    </div>
  );
}
