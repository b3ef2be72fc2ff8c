import { CircleStop, RefreshCw } from "lucide-react";
import { type ChatPart, textOf } from "../chat/message-types";
import { Json } from "../tools/Json";
import { Boundary } from "../ui/boundary";
import { IconButton } from "../ui/icon-button";
import { Actions, CopyText } from "./Actions";
import type { MessageProps } from "./Message";
import { Part } from "./Part";
import { PlainText } from "./PlainText";
import { isSource, Sources } from "./Sources";
import { Usage } from "./Usage";

export function AgentMessage({ message, root, agent, live, stopped, busy, onEdit: _, onRegenerate, ...answers }: MessageProps) {
  return (
    <article aria-label="Agent" className="group/message flex min-w-0 flex-col gap-3">
      <h2 className="sr-only">Agent</h2>
      {message.parts.map((part, index) => (
        <Boundary key={index} of={part} otherwise={<PlainPart part={part} />}>
          <Part part={part} message={message} root={root} agent={agent} live={live} {...answers} />
        </Boundary>
      ))}
      {stopped && (
        <p className="flex items-center gap-1.5 text-sm text-muted-foreground" data-stopped>
          <CircleStop className="size-4" aria-hidden /> Stopped
        </p>
      )}
      <Sources sources={message.parts.filter(isSource)} />
      {!live && (
        <Actions>
          <CopyText text={textOf(message)} />
          <IconButton
            label="Regenerate"
            size="small icon"
            disabled={busy}
            onClick={() => void onRegenerate({ messageId: message.id })}
          >
            <RefreshCw />
          </IconButton>
          <Usage metadata={message.metadata} />
        </Actions>
      )}
    </article>
  );
}

/** A part without its own look: its text, or its JSON. */
function PlainPart({ part }: { part: ChatPart }) {
  if (part.type === "text" || part.type === "reasoning") return <PlainText text={part.text} />;
  return <Json value={part} label={part.type} />;
}
