import {
  ActionBarPrimitive,
  AttachmentPrimitive,
  AuiIf,
  type CompleteAttachment,
  ComposerPrimitive,
  type FileMessagePartProps,
  MessagePrimitive,
  type ReasoningMessagePartProps,
  type SourceMessagePartProps,
  ThreadPrimitive,
} from "@assistant-ui/react";
import { MarkdownTextPrimitive } from "@assistant-ui/react-markdown";
import { type ComponentProps, useRef } from "react";
import { foreignHost } from "./foreign-host";
import { ToolCall } from "./ToolCall";
import { BranchPicker } from "./Versions";

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
            <p>{error instanceof TypeError ? "No connection to the server." : error.message}</p>
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
      <MessagePrimitive.Attachments>{({ attachment }) => <Attached attachment={attachment} />}</MessagePrimitive.Attachments>
      <MessagePrimitive.Parts />
      <ActionBarPrimitive.Root hideWhenRunning className="actions">
        <BranchPicker />
        <ActionBarPrimitive.Edit>Edit</ActionBarPrimitive.Edit>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

function Attached({ attachment: { name, content } }: { attachment: CompleteAttachment }) {
  return content.map((part, index) => {
    if (part.type === "image") return <File key={index} data={part.image} mimeType="image/*" filename={name} />;
    return part.type === "file" && <File key={index} data={part.data} mimeType={part.mimeType} filename={name} />;
  });
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
        <BranchPicker />
        <ActionBarPrimitive.Copy>Copy</ActionBarPrimitive.Copy>
        <ActionBarPrimitive.Reload>Regenerate</ActionBarPrimitive.Reload>
      </ActionBarPrimitive.Root>
    </MessagePrimitive.Root>
  );
}

function Text() {
  return <MarkdownTextPrimitive components={MARKDOWN} />;
}

const MARKDOWN = { img: Picture };

function Picture({ src = "", alt = "" }: ComponentProps<"img">) {
  const url = String(src);
  return foreignHost(url) === undefined ? <img className="picture" src={url} alt={alt} /> : <Elsewhere url={url} name={alt} />;
}

/** A link in place of a file elsewhere; only its name if no link should open it. */
function Elsewhere({ url, name }: { url: string; name: string }) {
  const host = foreignHost(url);
  if (!host) return <span className="file">{name}</span>;
  return (
    <a className="file" href={url} target="_blank" rel="noopener noreferrer">
      Show file from {host}: {name}
    </a>
  );
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

function File({ data, mimeType, filename }: Pick<FileMessagePartProps, "data" | "mimeType" | "filename">) {
  const url = /^(\w+:|\/)/.test(data) ? data : `data:${mimeType};base64,${data}`;
  if (foreignHost(url) !== undefined) return <Elsewhere url={url} name={filename ?? mimeType} />;
  if (mimeType.startsWith("image/")) return <img className="picture" src={url} alt={filename ?? "Image of this conversation"} />;
  return (
    <a className="file" href={url} download={filename ?? ""}>
      {filename ?? mimeType}
    </a>
  );
}
