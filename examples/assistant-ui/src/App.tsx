import type { UIMessage } from "ai";
import { useEffect, useState, useSyncExternalStore } from "react";
import { Assistant } from "./Assistant";
import { loadMessages } from "./server";

/** Shows the chat whose id is in the address, so that a reload and a second tab find it. */
export function App() {
  const id = useChatId();
  const [loaded, setLoaded] = useState<{ id: string; messages: UIMessage[] }>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    let left = false;
    loadMessages(id).then(
      (messages) => left || setLoaded({ id, messages }),
      (error: unknown) => left || setProblem(String(error)),
    );
    return () => {
      left = true;
    };
  }, [id]);
  if (problem) return <p role="alert">{problem}</p>;
  return loaded && <Assistant key={loaded.id} id={loaded.id} messages={loaded.messages} />;
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
