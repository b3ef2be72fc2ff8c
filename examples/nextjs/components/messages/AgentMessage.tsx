import { isToolUIPart } from "ai";
import { CircleStop, RefreshCw } from "lucide-react";
import { type ChatPart, textOf } from "../chat/message-types";
import { Calls } from "../tools/Calls";
import { Json } from "../tools/Json";
import { Boundary } from "../ui/boundary";
import { IconButton } from "../ui/icon-button";
import { Actions, CopyText } from "./Actions";
import type { MessageProps } from "./Message";
import { Part } from "./Part";
import { PlainText } from "./PlainText";
import { numberedSources, Sources } from "./Sources";
import { Usage } from "./Usage";

export function AgentMessage({ message, root, agent, live, stopped, busy, onEdit: _, onRegenerate, ...answers }: MessageProps) {
  return (
    <article aria-label="Agent" className="group/message flex min-w-0 flex-col gap-3">
      <h2 className="sr-only">Agent</h2>
      {runsOf(message.parts).map(([first, run]) => {
        const parts = run.map((part, index) => (
          <Boundary key={first + index} of={part} otherwise={<PlainPart part={part} />}>
            <Part part={part} message={message} root={root} agent={agent} live={live} {...answers} />
          </Boundary>
        ));
        const calls = run.filter(isToolUIPart);
        if (calls.length === 0) return parts;
        return (
          <Calls key={first} parts={calls} passed={answers.passed}>
            {parts}
          </Calls>
        );
      })}
      {stopped && !live && (
        <p className="flex items-center gap-1.5 text-sm text-muted-foreground" data-stopped>
          <CircleStop className="size-4" aria-hidden /> Stopped
        </p>
      )}
      <Sources sources={numberedSources(message.parts)} />
      {!live && (
        <Actions>
          <CopyText text={textOf(message)} />
          {onRegenerate && (
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

/** The parts, each with the place of its first one: calls that follow each other are together. */
function runsOf(parts: ChatPart[]): [number, ChatPart[]][] {
  const runs: [number, ChatPart[]][] = [];
  for (const [index, part] of parts.entries()) {
    const [, last] = runs.at(-1) ?? [];
    const before = last?.at(-1);
    if (last && before && isToolUIPart(part) && isToolUIPart(before)) last.push(part);
    else runs.push([index, [part]]);
  }
  return runs;
}

/** A part without its own look: its text, or its JSON. */
function PlainPart({ part }: { part: ChatPart }) {
  if (part.type === "text" || part.type === "reasoning") return <PlainText text={part.text} />;
  return <Json value={part} label={part.type} />;
}
