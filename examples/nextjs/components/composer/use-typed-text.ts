import { useEffect, useState } from "react";
import { tabStorage } from "./tab-storage";

/** State of the unsent text. The tab stores it for each chat until the tab is closed. */
export function useTypedText(): [string, (text: string) => void] {
  const [text, setText] = useState("");
  useEffect(() => setText(tabStorage()?.getItem(key()) ?? ""), []); // in an effect: server rendering has no storage
  const change = (changed: string) => {
    if (changed === "") tabStorage()?.removeItem(key());
    else tabStorage()?.setItem(key(), changed);
    setText(changed);
  };
  return [text, change];
}

/** The storage key of the open chat. All new chats share one key. */
function key(): string {
  return `draft${window.location.pathname}${window.location.hash}`;
}
