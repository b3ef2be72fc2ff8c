import {
  ActionBarPrimitive,
  AttachmentPrimitive,
  AuiIf,
  ComposerPrimitive,
  type FileMessagePartProps,
  MessagePrimitive,
  type ReasoningMessagePartProps,
  type SourceMessagePartProps,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { MarkdownTextPrimitive } from "@assistant-ui/react-markdown";
import { useRef } from "react";
import { ToolCall } from "./ToolCall";

export function Thread({ error, onRetry }: { error: Error | undefined; onRetry: () => void }) {
  return (
    <ThreadPrimitive.Root className="thread">
      <ThreadPrimitive.Viewport className="log" role="log" aria-label="Conversation">
        <ThreadPrimitive.Empty>
          <h1>What can I do for you?</h1>
        </ThreadPrimitive.Empty>
        <ThreadPrimitive.Messages components={{ UserMessage, UserEditComposer, AssistantMessage }} />
        {error && (
          <div className="problem" role="alert">
            <p>{error.message}</p>
            <button type="button" onClick={onRetry}>
              Retry
            </button>
          </div>
        )}
      </ThreadPrimitive.Viewport>
      <Composer />
    </ThreadPrimitive.Root>
  );
}

function Composer() {
  const field = useRef<HTMLTextAreaElement>(null);
  return (
    <ComposerPrimitive.Root className="composer">
      <ComposerPrimitive.Attachments components={{ Attachment }} />
      <ComposerPrimitive.Input ref={field} aria-label="Message" placeholder="Write a message" rows={1} autoFocus />
      <div className="row">
        <ComposerPrimitive.AddAttachment aria-label="Attach files">+</ComposerPrimitive.AddAttachment>
        <AuiIf condition={(state) => !state.thread.isRunning}>
          <ComposerPrimitive.Send className="primary">Send</ComposerPrimitive.Send>
        </AuiIf>
        <AuiIf condition={(state) => state.thread.isRunning}>
          <ComposerPrimitive.Cancel onClick={() => field.current?.focus()}>Stop</ComposerPrimitive.Cancel>
        </AuiIf>
      </div>
    </ComposerPrimitive.Root>
  );
}

function Attachment() {
  return (
    <AttachmentPrimitive.Root className="attached">
      <AttachmentPrimitive.Name />
      <AttachmentPrimitive.Remove aria-label="Remove">×</AttachmentPrimitive.Remove>
    </AttachmentPrimitive.Root>
  );
}

function UserMessage() {
  return (
    <MessagePrimitive.Root role="article" aria-label="You" className="message user">
      <MessagePrimitive.Parts components={{ File }} />
      <ActionBarPrimitive.Root hideWhenRunning className="actions">
        <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

function UserEditComposer() {
  return (
    <ComposerPrimitive.Root className="composer">
      <ComposerPrimitive.Input aria-label="Edit message" autoFocus />
      <div className="row">
        <ComposerPrimitive.Cancel>Cancel</ComposerPrimitive.Cancel>
        <ComposerPrimitive.Send className="primary">Save</ComposerPrimitive.Send>
      </div>
    </ComposerPrimitive.Root>
  );
}

function AssistantMessage() {
  return (
    <MessagePrimitive.Root role="article" aria-label="Agent" className="message agent">
      <MessagePrimitive.Parts components={{ Text, Reasoning, Source, File, tools: { Fallback: ToolCall } }} />
      <ActionBarPrimitive.Root hideWhenRunning className="actions">
        <ActionBarPrimitive.Copy>Copy</ActionBarPrimitive.Copy>
        <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

function Text() {
  return <MarkdownTextPrimitive />;
}

function Reasoning({ text, status }: ReasoningMessagePartProps) {
  if (text === "") return null;
  return (
    <details className="reasoning" open={status.type === "running"}>
      <summary role="button">Thoughts</summary>
      <p>{text}</p>
    </details>
  );
}

function Source(source: SourceMessagePartProps) {
  if (source.sourceType !== "url" || !/^https?:\/\//.test(source.url)) return <span className="source">{source.title}</span>;
  return (
    <a className="source" href={source.url} target="_blank" rel="noreferrer">
      {source.title ?? source.url}
    </a>
  );
}

function File({ data, mimeType, filename }: FileMessagePartProps) {
  const url = /^(https?:|data:|\/)/.test(data) ? data : `data:${mimeType};base64,${data}`;
  if (mimeType.startsWith("image/")) return <img className="picture" src={url} alt={filename ?? "Image of this conversation"} />;
  return (
    <a className="file" href={url} download={filename ?? ""}>
      {filename ?? mimeType}
    </a>
  );
}
