import { useEffect, useState } from "react";
import { tabStorage } from "./tab-storage";

/** As `useState`, for what is typed but not sent: it is kept for each chat until the tab is closed. */
export function useTypedText(): [string, (text: string) => void] {
  const [text, setText] = useState("");
  useEffect(() => setText(tabStorage()?.getItem(key()) ?? ""), []); // a server that draws the page has no storage
  const change = (changed: string) => {
    if (changed === "") tabStorage()?.removeItem(key());
    else tabStorage()?.setItem(key(), changed);
    setText(changed);
  };
  return [text, change];
}

/** The place of the open chat; all new chats have one. */
function key(): string {
  return `draft${window.location.pathname}${window.location.hash}`;
}
