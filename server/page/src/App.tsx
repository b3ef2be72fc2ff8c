import { generateId } from "ai";
import { useSyncExternalStore } from "react";
import { Chat } from "./Chat";

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
  const fresh = generateId();
  window.history.replaceState(null, "", `#${fresh}`);
  return fresh;
}

export function App() {
  const id = useChatId();
  return (
    <div className="app">
      <header className="bar">
        <h1>
          ADK chat <span className="faint">over the AI SDK</span>
        </h1>
        <button type="button" onClick={() => (window.location.hash = generateId())}>
          New chat
        </button>
      </header>
      <Chat key={id} id={id} />
    </div>
  );
}
