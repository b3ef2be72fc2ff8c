import { createRoot } from "react-dom/client";
import { Chat } from "./Chat";
import type { ChatMessage } from "./chat-types";
import "./style.css";

/** Shows the chat whose id is in the address, so that a reload and a second tab find it. */
async function open(): Promise<void> {
  const id = location.hash.slice(1);
  if (!id) return location.replace(`#${crypto.randomUUID()}`);
  const response = await fetch(`/api/chat/${encodeURIComponent(id)}`);
  const messages: ChatMessage[] = response.ok ? (await response.json()).messages : [];
  root.render(<Chat key={id} id={id} messages={messages} />);
}

const root = createRoot(document.getElementById("root") ?? document.body);
addEventListener("hashchange", () => void open());
void open();
