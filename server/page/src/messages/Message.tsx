import { getToolName, isDataUIPart, isToolUIPart, type SourceDocumentUIPart, type SourceUrlUIPart } from "ai";
import type { FileUIPart, ReasoningUIPart } from "ai";
import { memo } from "react";
import { gatedByCredential } from "../tools/Credential";
import { Elsewhere, Picture } from "./Elsewhere";
import { Json } from "../tools/Json";
import { Markdown } from "./Markdown";
import {
  type ChatMessage,
  type ChatMetadata,
  type ChatPart,
  CONFIRMATION,
  confirmationOf,
  speakerOf,
} from "../chat/message-types";
import { type Answers, ToolCard } from "../tools/ToolCard";

type MessageProps = Answers & {
  message: ChatMessage;
  /** The agent that speaks unless something else is said. */
  root: string | undefined;
  /** This message is being written. */
  live: boolean;
};

export const Message = memo(function Message({ message, root, live, ...answers }: MessageProps) {
  const sources = message.parts.filter(isSource);
  return (
    <article className={`message ${message.role}`} aria-label={message.role === "user" ? "You" : "Agent"}>
      {message.parts.map((part, index) => (
        <Part key={index} part={part} message={message} root={root} live={live} {...answers} />
      ))}
      {sources.length > 0 && <Sources sources={sources} />}
      {!live && message.metadata && <SmallPrint metadata={message.metadata} />}
    </article>
  );
});

type PartProps = MessageProps & { part: ChatPart };

function Part({ part, message, root, live, ...answers }: PartProps) {
  if (isToolUIPart(part)) {
    const confirmation = confirmationOf(message, part.toolCallId);
    const gated = gatedByCredential(message.parts).has(part.toolCallId);
    const name = part.title ?? getToolName(part);
    return <ToolCard part={part} name={name} confirmation={confirmation} gated={gated} {...answers} />;
  }
  if (part.type === CONFIRMATION) return null; // its tool's card says it
  if (isDataUIPart(part)) return <Data type={part.type} data={part.data} />;
  switch (part.type) {
    case "text": {
      if (part.text === "") return null;
      const speaker = speakerOf(part);
      return (
        <div className="text" data-state={part.state}>
          {speaker !== undefined && speaker !== root && <p className="speaker">{speaker}</p>}
          {message.role === "user" ? <p className="typed">{part.text}</p> : <Markdown text={part.text} />}
        </div>
      );
    }
    case "reasoning":
      return <Reasoning part={part} live={live} />;
    case "file":
      return <File part={part} />;
    default:
      return null; // sources stand together at the end; a step boundary is not shown
  }
}

function Reasoning({ part, live }: { part: ReasoningUIPart; live: boolean }) {
  if (part.text === "") return null;
  const thinking = live && part.state === "streaming";
  return (
    <details className="reasoning" open={thinking}>
      <summary>{thinking ? "Thinking…" : "Thoughts"}</summary>
      <Markdown text={part.text} />
    </details>
  );
}

function File({ part }: { part: FileUIPart }) {
  const name = part.filename ?? part.mediaType;
  if (part.mediaType.startsWith("image/")) {
    return <Picture className="picture" url={part.url} alt={part.filename ?? "Image from the conversation"} />;
  }
  return (
    <Elsewhere className="file" url={part.url} download={part.filename ?? ""}>
      {name}
    </Elsewhere>
  );
}

function Data({ type, data }: { type: string; data: unknown }) {
  if (type === "data-adk-agent") return <p className="handover">handed over to {agentName(data)}</p>;
  return (
    <details className="data">
      <summary>{type}</summary>
      <Json value={data} label={type} />
    </details>
  );
}

function agentName(data: unknown): string {
  if (typeof data === "object" && data !== null && "agent" in data) return String(data.agent);
  return typeof data === "string" ? data : JSON.stringify(data);
}

type Source = SourceUrlUIPart | SourceDocumentUIPart;

function isSource(part: ChatPart): part is Source {
  return part.type === "source-url" || part.type === "source-document";
}

function Sources({ sources }: { sources: Source[] }) {
  return (
    <nav className="sources" aria-label="Sources">
      <h3>Sources</h3>
      <ol>
        {sources.map((source) => (
          <li key={source.sourceId}>
            {source.type === "source-url" ? (
              <Elsewhere url={source.url}>{source.title ?? source.url}</Elsewhere>
            ) : (
              source.title
            )}
          </li>
        ))}
      </ol>
    </nav>
  );
}

function SmallPrint({ metadata }: { metadata: ChatMetadata }) {
  const { modelId, usage } = metadata;
  const facts = [
    modelId,
    usage?.inputTokens !== undefined && `${usage.inputTokens} tokens in`,
    usage?.outputTokens !== undefined && `${usage.outputTokens} out`,
  ].filter(Boolean);
  return facts.length > 0 ? <p className="small-print">{facts.join(" · ")}</p> : null;
}
