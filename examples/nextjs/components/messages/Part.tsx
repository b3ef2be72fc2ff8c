import { getToolName, isDataUIPart, isToolUIPart, type TextUIPart } from "ai";
import { type ComponentType, lazy, Suspense } from "react";
import { type ChatMessage, type ChatPart, callerOf, citationsOf, confirmationOf, denialOf, speakerOf } from "../chat/message-types";
import { gatedByCredential } from "../tools/Credential";
import { type Answers, ToolCard } from "../tools/ToolCard";
import { Data } from "./data/Data";
import { File } from "./File";
import { Markdown } from "./Markdown";
import { Reasoning } from "./Reasoning";
import type { CitedTextProps } from "./cited/CitedText";
import { numberedSources } from "./Sources";
import { Speaker } from "./Speaker";

type PartProps = Answers & { part: ChatPart; message: ChatMessage; root: string | undefined; agent: string | undefined; live: boolean };

/** Fetched for the first text with citations: until then, or if that fails, the text stands without their numbers. */
const CitedText = lazy<ComponentType<CitedTextProps>>(() =>
  import("./cited/CitedText").catch(() => ({ default: ({ text }) => <Markdown text={text} /> })),
);

/** What ADK calls its own ways to ask. */
const TITLES: Record<string, string> = { adk_request_credential: "Sign-in", adk_request_input: "Question" };

/** One part of what an agent says. */
export function Part({ part, message, root, agent, live, ...answers }: PartProps) {
  if (isToolUIPart(part)) {
    const confirmation = confirmationOf(message, part.toolCallId);
    const gated = gatedByCredential(message.parts).has(part.toolCallId);
    const name = part.title ?? TITLES[getToolName(part)] ?? getToolName(part);
    const caller = callerOf(message, part) ?? root ?? agent;
    const denial = denialOf(message, part.toolCallId);
    return <ToolCard part={part} name={name} confirmation={confirmation} denial={denial} gated={gated} agent={caller} {...answers} />;
  }
  if (isDataUIPart(part)) return <Data type={part.type} data={part.data} />;
  switch (part.type) {
    case "text":
      return <Text part={part} message={message} root={root} live={live} />;
    case "reasoning":
      return <Reasoning part={part} live={live && part.state === "streaming"} />;
    case "file":
      return <File part={part} />;
    default:
      return null; // sources stand together at the end; where a step begins is not shown
  }
}

type TextProps = { part: TextUIPart; message: ChatMessage; root: string | undefined; live: boolean };

function Text({ part, message, root, live }: TextProps) {
  if (part.text === "") return null;
  const speaker = speakerOf(part);
  const citations = part.state === "streaming" ? [] : citationsOf(message, part);
  const markdown = <Markdown text={part.text} live={live && part.state === "streaming"} />;
  return (
    <div data-text={part.state ?? "done"}>
      {speaker !== undefined && speaker !== root && <Speaker name={speaker} />}
      {citations.length === 0 ? (
        markdown
      ) : (
        <Suspense fallback={markdown}>
          <CitedText text={part.text} citations={citations} sources={numberedSources(message.parts)} />
        </Suspense>
      )}
    </div>
  );
}
