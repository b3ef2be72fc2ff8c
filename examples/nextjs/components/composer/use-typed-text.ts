import { useEffect, useState } from "react";

/** As `useState`, for what is typed but not sent: it is kept for each chat until the tab is closed. */
export function useTypedText(): [string, (text: string) => void] {
  const [text, setText] = useState("");
  useEffect(() => setText(storage()?.getItem(key()) ?? ""), []); // a server that draws the page has no storage
  const change = (changed: string) => {
    if (changed === "") storage()?.removeItem(key());
    else storage()?.setItem(key(), changed);
    setText(changed);
  };
  return [text, change];
}

/** The place of the open chat; all new chats have one. */
function key(): string {
  return `draft${window.location.pathname}${window.location.hash}`;
}

/** A browser that stores nothing has none. */
function storage(): Storage | undefined {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}
