import { getToolName } from "ai";
import { type NestedMessage, textOf } from "../chat/message-types";
import { Parts } from "../messages/Parts";
import { Output } from "./Output";
import { isObject } from "./schema";
import type { Answers, ToolPart } from "./ToolCard";

type NestedProps = Answers & { part: ToolPart; message: NestedMessage; live: boolean };

/** The parts of an agent that runs as a tool, and its result if it differs from its last text. */
export function Nested({ part, message, live, stopped, ...answers }: NestedProps) {
  const name = getToolName(part);
  const { result, omittedEvents, stopped: ended = false } = message.metadata ?? {};
  return (
    <div role="group" aria-label={`Work of ${name}`} data-nested className="flex min-w-0 flex-col gap-3 border-s-2 ps-3">
      <Parts message={message} root={name} agent={name} live={live} stopped={stopped || ended} {...answers} />
      {omittedEvents !== undefined && <p className="text-muted-foreground">{omittedEvents} later steps were not kept.</p>}
      {result !== undefined && !isSaid(result, message) && <Output value={result} />}
    </div>
  );
}

function isSaid(result: unknown, message: NestedMessage): boolean {
  return isObject(result) && typeof result["result"] === "string" && textOf(message).endsWith(result["result"].trim());
}
