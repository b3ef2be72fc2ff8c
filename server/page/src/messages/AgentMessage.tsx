import { RefreshCw } from "lucide-react";
import { textOf } from "../chat/message-types";
import { Boundary } from "../ui/boundary";
import { IconButton } from "../ui/icon-button";
import { Actions, CopyText } from "./Actions";
import type { MessageProps } from "./Message";
import { Part } from "./Part";
import { isSource, Sources } from "./Sources";
import { Usage } from "./Usage";

export function AgentMessage({ message, root, live, busy, onEdit: _, onRegenerate, ...answers }: MessageProps) {
  return (
    <article aria-label="Agent" className="group/message flex min-w-0 flex-col gap-3">
      <h2 className="sr-only">Agent</h2>
      {message.parts.map((part, index) => (
        <Boundary key={index} of={part} otherwise={<p className="text-muted-foreground text-sm">A part that cannot be shown.</p>}>
          <Part part={part} message={message} root={root} live={live} {...answers} />
        </Boundary>
      ))}
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
