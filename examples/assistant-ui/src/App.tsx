import { useEffect, useState, useSyncExternalStore } from "react";
import { Assistant } from "./Assistant";
import { loadChat, type StoredChat } from "./server";

/** Shows the chat whose id is in the address, so that a reload and a second tab find it. */
export function App() {
  const id = useChatId();
  const [loaded, setLoaded] = useState<StoredChat & { id: string }>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let left = false;
    loadChat(id).then(
      (chat) => left || setLoaded({ id, ...chat }),
      (error: unknown) => left || setProblem(String(error)),
    );
    return () => {
      left = true;
    };
  }, [id]);
  if (problem) return <p role="alert">{problem}</p>;
  return loaded && <Assistant key={loaded.id} {...loaded} />;
}

export function openChat(id: string = crypto.randomUUID()): void {
  location.hash = id;
}

function useChatId(): string {
  const id = useSyncExternalStore(
    (changed) => {
      window.addEventListener("hashchange", changed);
      return () => window.removeEventListener("hashchange", changed);
    },
    () => location.hash.slice(1),
  );
  const [made] = useState(() => crypto.randomUUID());
  useEffect(() => {
    if (!id) location.replace(`#${made}`);
  }, [id, made]);
  return id || made;
}
