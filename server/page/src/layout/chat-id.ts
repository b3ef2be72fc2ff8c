import { generateId } from "ai";
import { useSyncExternalStore } from "react";

/**
 * The open chat is named in the URL's hash, so that a reload or a bookmark keeps it. A new chat has no name there until
 * something is said in it: the server does not know it before.
 */

const CHANGED = "chat-opened";

/** The chat that this page begins, until another one is opened: nobody else has anything of it. */
let newChat = generateId();

export function useChatId(): string {
  return useSyncExternalStore(subscribe, openChatId);
}

export function isBegunHere(id: string): boolean {
  return id === newChat;
}

export function chatHref(id: string): string {
  return `#${encodeURIComponent(id)}`;
}

export function openChat(id: string): void {
  window.location.hash = chatHref(id);
}

export function openNewChat(): void {
  newChat = generateId();
  window.history.pushState(null, "", window.location.pathname + window.location.search);
  window.dispatchEvent(new Event(CHANGED));
}

/** Something is being said in the chat: from now on the URL names it. */
export function nameInUrl(id: string): void {
  if (idInUrl() === "") window.history.replaceState(null, "", chatHref(id));
}

function openChatId(): string {
  return idInUrl() || newChat;
}

/** Empty if there is none, or what no chat can be: `#%`. */
function idInUrl(): string {
  try {
    return decodeURIComponent(window.location.hash.slice(1));
  } catch {
    return "";
  }
}

function subscribe(onChange: () => void): () => void {
  const onOpened = () => {
    if (!["", newChat].includes(idInUrl())) newChat = generateId();
    onChange();
  };
  const events = [CHANGED, "hashchange", "popstate"];
  for (const event of events) window.addEventListener(event, onOpened);
  return () => {
    for (const event of events) window.removeEventListener(event, onOpened);
  };
}
