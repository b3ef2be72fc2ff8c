import type { ChatMessage } from "../components/chat/message-types";
import { Shown } from "./Shown";

/** The messages as the client has folded them, the newest one open. */
export function Messages({ messages }: { messages: ChatMessage[] }) {
  if (messages.length === 0) return <p className="text-sm text-muted-foreground">There is no message yet.</p>;
  return messages.map((message, index) => (
    <details key={`${index}-${message.id}`} open={index === messages.length - 1}>
      <summary className="rounded-md py-1 text-sm">
        <span className="font-medium">{message.role}</span>{" "}
        <span className="text-muted-foreground">
          {message.id}, {message.parts.length} {message.parts.length === 1 ? "part" : "parts"}
        </span>
      </summary>
      <Shown value={message} label={`Message ${index + 1}`} />
    </details>
  ));
}
