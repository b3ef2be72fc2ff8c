import { type FileUIPart, isToolUIPart } from "ai";
import { type FormEvent, useState } from "react";
import type { ChatMessage } from "./chat-types";
import { foreignHost } from "./foreign-host";
import { type Answers, ToolCall } from "./ToolCall";

type MessageProps = Answers & {
  message: ChatMessage;
  last: boolean;
  busy: boolean;
  onEdit: (text: string) => void;
  onRegenerate: () => void;
};

export function Message({ message, last, busy, onEdit, onRegenerate, ...answers }: MessageProps) {
  const [draft, setDraft] = useState<string>();
  const isUser = message.role === "user";
  const text = message.parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n\n");

  const save = (event: FormEvent) => {
    event.preventDefault();
    setDraft(undefined);
    if (draft?.trim()) onEdit(draft.trim());
  };

  return (
    <article aria-label={isUser ? "You" : "Agent"} className={`message ${message.role}`}>
      {message.parts.map((part, index) =>
        isToolUIPart(part) ? (
          <ToolCall key={index} part={part} answerable={last && !busy} {...answers} />
        ) : part.type === "text" && draft !== undefined ? null : (
          <Part key={index} part={part} busy={busy} />
        ),
      )}
      {draft !== undefined ? (
        <form className="composer" onSubmit={save}>
          <textarea value={draft} autoFocus aria-label="Edit message" onChange={({ target }) => setDraft(target.value)} />
          <div className="row">
            <button type="button" onClick={() => setDraft(undefined)}>
              Cancel
            </button>
            <button type="submit" className="primary">
              Save
            </button>
          </div>
        </form>
      ) : (
        !busy && (
          <div className="actions">
            {isUser ? (
              <button type="button" onClick={() => setDraft(text)}>
                Edit
              </button>
            ) : (
              <button type="button" onClick={onRegenerate}>
                Regenerate
              </button>
            )}
          </div>
        )
      )}
    </article>
  );
}

function File({ part: { url, mediaType, filename } }: { part: FileUIPart }) {
  const name = filename ?? mediaType;
  const host = foreignHost(url);
  if (host === "") return <span className="file">{name}</span>;
  if (host !== undefined) {
    return (
      <a className="file" href={url} target="_blank" rel="noopener noreferrer">
        Show file from {host}: {name}
      </a>
    );
  }
  if (mediaType.startsWith("image/")) return <img className="picture" src={url} alt={filename ?? "Image of this conversation"} />;
  return (
    <a className="file" href={url} download={filename ?? ""}>
      {name}
    </a>
  );
}

function Part({ part, busy }: { part: ChatMessage["parts"][number]; busy: boolean }) {
  switch (part.type) {
    case "text": // Put your Markdown renderer here, with links in place of images where `foreignHost` names a host.
      return part.text && <p className="text">{part.text}</p>;
    case "reasoning":
      return (
        part.text && (
          <details className="reasoning" open={part.state === "streaming" && busy}>
            <summary role="button">Thoughts</summary>
            <p>{part.text}</p>
          </details>
        )
      );
    case "file":
      return <File part={part} />;
    case "source-url":
      if (!/^https?:\/\//.test(part.url)) return null;
      return (
        <a className="source" href={part.url} target="_blank" rel="noreferrer">
          {part.title ?? part.url}
        </a>
      );
    default:
      return null;
  }
}
