import { isDataUIPart, isToolUIPart } from "ai";
import { memo, useState } from "react";
import type { ChatMessage, ChatPart } from "@/lib/chat-message";
import { Boundary, PlainText } from "./boundary";
import { Data } from "./data";
import { EditMessage } from "./edit-message";
import { File } from "./file";
import { Markdown } from "./markdown";
import { AgentActions, UserActions } from "./message-actions";
import { Reasoning } from "./reasoning";
import { isSource, Sources } from "./sources";
import { ToolCall } from "./tool-call";

type MessageProps = {
  message: ChatMessage;
  last: boolean;
  busy: boolean;
  onEdit: (messageId: string, text: string) => void;
  onRegenerate: (options: { messageId: string }) => void;
};

export const Message = memo(function Message(props: MessageProps) {
  return props.message.role === "user" ? <UserMessage {...props} /> : <AgentMessage {...props} />;
});

function UserMessage({ message, onEdit }: MessageProps) {
  const [editing, setEditing] = useState(false);
  const save = (text: string) => {
    setEditing(false);
    onEdit(message.id, text);
  };
  return (
    <article aria-label="You" className="group flex flex-col items-end gap-2">
      {message.parts.map((part, index) => part.type === "file" && <File key={index} part={part} />)}
      {editing ? (
        <EditMessage message={message} onSave={save} onCancel={() => setEditing(false)} />
      ) : (
        message.parts.map(
          (part, index) =>
            part.type === "text" && (
              <p key={index} className="max-w-[85%] rounded-2xl bg-accent px-4 py-2.5 whitespace-pre-wrap wrap-anywhere">
                {part.text}
              </p>
            ),
        )
      )}
      {!editing && <UserActions message={message} onEdit={() => setEditing(true)} />}
    </article>
  );
}

function AgentMessage({ message, last, busy, onRegenerate }: MessageProps) {
  const live = last && busy;
  return (
    <article aria-label="Agent" className="group flex flex-col gap-3">
      {message.parts.map((part, index) => (
        <Boundary key={index} of={part} otherwise={<PlainText text={plain(part)} />}>
          <Part part={part} message={message} live={live} answerable={last && !busy} />
        </Boundary>
      ))}
      <Sources sources={message.parts.filter(isSource)} />
      {!live && <AgentActions message={message} onRegenerate={() => onRegenerate({ messageId: message.id })} />}
    </article>
  );
}

/** A part that cannot be drawn: its text, or its JSON. */
function plain(part: ChatPart): string {
  return part.type === "text" || part.type === "reasoning" ? part.text : JSON.stringify(part, null, 2);
}

type PartProps = { part: ChatPart; message: ChatMessage; live: boolean; answerable: boolean };

function Part({ part, message, live, answerable }: PartProps) {
  if (isToolUIPart(part)) return <ToolCall part={part} message={message} live={live} answerable={answerable} />;
  if (isDataUIPart(part)) return <Data part={part} />;
  switch (part.type) {
    case "text":
      return <Markdown text={part.text} live={live && part.state === "streaming"} />;
    case "reasoning":
      return <Reasoning part={part} live={live && part.state === "streaming"} />;
    case "file":
      return <File part={part} />;
    default:
      return null; // sources stand together at the end; where a step begins is not shown
  }
}
