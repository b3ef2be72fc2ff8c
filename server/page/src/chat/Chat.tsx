import { lazy, Suspense, useRef } from "react";
import { Composer } from "../composer/Composer";
import { useAttachments } from "../composer/use-attachments";
import type { PageInfo } from "../layout/use-page-info";
import { Message } from "../messages/Message";
import { Drafts } from "../tools/drafts";
import { Boundary } from "../ui/boundary";
import { Announcer } from "./Announcer";
import { Conversation } from "./Conversation";
import { type ChatMessage, speakerOf } from "./message-types";
import { Problem } from "./Problem";
import { useAgentChat } from "./use-agent-chat";
import { useEscape } from "./use-escape";
import { useTabTitle } from "./use-tab-title";
import { Waiting } from "./Waiting";
import { Welcome } from "./Welcome";

/** Opens the user's last message, as its own button does. */
function editLast(): boolean {
  const buttons = document.querySelectorAll<HTMLElement>("article[aria-label=You] button[aria-label=Edit]");
  buttons.item(buttons.length - 1)?.click();
  return buttons.length > 0;
}

const Inspector = lazy(() => import("../inspector/Inspector"));

type ChatProps = {
  id: string;
  messages: ChatMessage[];
  /** `undefined` until the server was asked. */
  info: PageInfo | undefined;
  missing: boolean;
  resume: boolean;
  inspecting: boolean;
  onCloseInspector: () => void;
};

export function Chat({ id, messages: stored, info, missing, resume, inspecting, onCloseInspector }: ChatProps) {
  const chat = useAgentChat(id, stored, resume);
  const { messages, busy } = chat;
  const field = useRef<HTMLTextAreaElement>(null);
  const attachments = useAttachments(() => field.current?.focus());
  const root = messages.flatMap(({ parts }) => parts).map(speakerOf).find((name) => name !== undefined);
  const model = messages.findLast(({ metadata }) => metadata?.modelId)?.metadata?.modelId ?? info?.models.join(", ");
  const stop = () => {
    field.current?.focus();
    void chat.stop();
  };
  useEscape(busy, stop);
  useTabTitle(messages, busy, info?.agent);

  return (
    <div className="flex min-h-0 flex-1">
      <main className="relative flex min-h-0 min-w-0 flex-1 flex-col" {...attachments.dropTarget}>
        {messages.length === 0 && !busy && !chat.error ? (
          <Welcome info={info} missing={missing} onPick={(text) => void chat.send({ text, files: [] })} />
        ) : (
          <Conversation busy={busy} sent={messages.filter(({ role }) => role === "user").length}>
            <Drafts value={chat.drafts}>
              {messages.map((message, index) => (
                <Message
                  key={message.id}
                  message={message}
                  root={root}
                  agent={info?.agent}
                  live={busy && index === messages.length - 1}
                  answerable={!busy && index === messages.length - 1}
                  passed={index < messages.length - 1}
                  stopped={chat.stopped.has(message.id)}
                  busy={busy}
                  onApproval={chat.approve}
                  onOutput={chat.output}
                  onEdit={chat.edit}
                  onRegenerate={chat.regenerate}
                />
              ))}
            </Drafts>
            {chat.status === "submitted" && <Waiting />}
            {chat.error && (
              <Problem text={chat.error.message} onRetry={chat.retry} onDismiss={chat.clearError} />
            )}
          </Conversation>
        )}
        <Composer
          field={field}
          attachments={attachments}
          model={model}
          agent={info?.agent}
          busy={busy}
          onSend={chat.send}
          onStop={stop}
          onEditLast={editLast}
        />
        {attachments.over && (
          <p className="pointer-events-none absolute inset-3 z-20 grid place-items-center rounded-2xl border-2 border-dashed border-ring bg-background/85">
            Drop files to attach them
          </p>
        )}
        <Announcer status={chat.status} messages={messages} />
      </main>
      {inspecting && (
        <Boundary of={id} otherwise={<p className="m-auto p-4 text-sm">The Inspector cannot show this chat.</p>}>
          <Suspense>
            <Inspector id={id} state={chat.state} payloads={chat.payloads} onClose={onCloseInspector} />
          </Suspense>
        </Boundary>
      )}
    </div>
  );
}
