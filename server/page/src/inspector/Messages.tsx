import { ChevronDown } from "lucide-react";
import { useState } from "react";
import type { ChatMessage } from "../components/chat/message-types";
import { Shown } from "./Shown";

/** The messages as the client has built them. The newest message is open. */
export function Messages({ messages }: { messages: ChatMessage[] }) {
  if (messages.length === 0) return <p className="text-sm text-muted-foreground">There is no message yet. The messages that the client builds from the chunks appear here.</p>;
  return messages.map((message, index) => (
    <Message key={`${index}-${message.id}`} message={message} number={index + 1} last={index === messages.length - 1} />
  ));
}

function Message({ message, number, last }: { message: ChatMessage; number: number; last: boolean }) {
  const [chosen, choose] = useState<boolean>();
  const open = chosen ?? last;
  return (
    <details open={open}>
      <summary
        className="flex list-none items-center gap-1.5 rounded-md py-1 text-sm hover:bg-accent"
        onClick={(event) => {
          event.preventDefault(); // React opens and closes the message, so that only open messages draw their JSON
          choose(!open);
        }}
      >
        <ChevronDown className={`size-4 shrink-0 text-muted-foreground transition-transform ${open ? "" : "-rotate-90"}`} aria-hidden />
        <span className="font-medium">{message.role}</span>
        <span className="min-w-0 truncate text-muted-foreground">
          {message.id}, {message.parts.length} {message.parts.length === 1 ? "part" : "parts"}
        </span>
      </summary>
      {open && <Shown value={message} label={`Message ${number}`} openTo={2} />}
    </details>
  );
}
