import { isToolUIPart } from "ai";
import { RefreshCw } from "lucide-react";
import { neededFor, textOf } from "../chat/message-types";
import { IconButton } from "../ui/icon-button";
import { Actions, CopyText, Versions } from "./Actions";
import { Ended } from "./Ended";
import type { MessageProps } from "./Message";
import { Parts } from "./Parts";
import { Usage } from "./Usage";

export function AgentMessage({ message, root, agent, live, outcome, busy, onEdit: _, onRetry, ...others }: MessageProps) {
  const { onRegenerate, versions, onChoose, ...answers } = others;
  return (
    <article aria-label="Agent" className="flex min-w-0 flex-col gap-3">
      <h2 className="sr-only">Agent</h2>
      <Parts
        message={message}
        root={root}
        agent={agent}
        live={live}
        stopped={outcome?.type === "stopped"}
        asked={message.parts.filter(isToolUIPart)}
        {...answers}
      />
      {outcome && <Ended outcome={outcome} onRetry={onRetry} />}
      {!live && (
        <Actions>
          <Versions versions={versions} busy={busy} onChoose={onChoose} />
          <CopyText text={textOf(message)} />
          {onRegenerate && !(answers.answerable && neededFor(message)) && (
            <IconButton
              label="Regenerate"
              size="small icon"
              disabled={busy}
              onClick={() => void onRegenerate({ messageId: message.id })}
            >
              <RefreshCw />
            </IconButton>
          )}
          <Usage metadata={message.metadata} />
        </Actions>
      )}
    </article>
  );
}
