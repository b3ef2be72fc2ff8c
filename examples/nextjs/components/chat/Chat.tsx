import "../without-eval";
import { type ReactNode, useRef } from "react";
import { Composer, type ComposerHandle } from "../composer/Composer";
import { Queued } from "../composer/Queued";
import { useAttachments } from "../composer/use-attachments";
import { type Editable, Message } from "../messages/Message";
import { Drafts } from "../tools/drafts";
import { TooLargeError } from "./chat-api";
import { Announcer } from "./Announcer";
import { Conversation } from "./Conversation";
import { type Draft, type Outcome, type StoredChat, speakerOf } from "./message-types";
import { Problem } from "./Problem";
import { type AgentChat, useAgentChat } from "./use-agent-chat";
import { useEscape } from "./use-escape";
import { useQueue, type WhileBusy } from "./use-queue";
import { useTabTitle } from "./use-tab-title";
import { moves, Waiting } from "./Waiting";
import { type About, type Suggestion, Welcome } from "./Welcome";

type ChatProps = {
  id: string;
  /** The chat as it was loaded. */
  stored: StoredChat;
  /** The agent's name and suggestions. `undefined` while they are loading. */
  about: About | undefined;
  /** True if the server does not have the chat of the URL. */
  missing?: boolean;
  /** True if a reply may be streaming, so the chat tries to resume it. */
  resume: boolean;
  /** The effect of Enter while a reply is streaming. */
  whileBusy?: WhileBusy | undefined;
  /** Called when a message is sent. */
  onSend?: (id: string) => void;
  /** Content beside the chat, such as the Inspector. */
  beside?: (chat: AgentChat) => ReactNode;
};

/** A chat with its message field. Give it `key={id}`, so each chat has its own state. */
export function Chat(props: ChatProps) {
  const { id, stored, about, missing = false, resume, whileBusy = "queue", onSend, beside } = props;
  const chat = useAgentChat({ id, stored, resume, onSend });
  const { messages, busy } = chat;
  const field = useRef<HTMLTextAreaElement>(null);
  const attachments = useAttachments(about, () => field.current?.focus());
  const root = messages.flatMap(({ parts }) => parts).map(speakerOf).find((name) => name !== undefined);
  const last = messages.findLast(({ metadata }) => metadata?.modelId)?.metadata?.modelId;
  const models = about?.models ?? [];
  const model = models.length === 1 ? undefined : (last ?? (models.join(", ") || undefined));
  const queue = useQueue({ state: chat.state, busy: busy || chat.connection === "lost", send: chat.send, showStored: chat.showStored });
  const composer = useRef<ComposerHandle>(null);
  const pick = ({ prompt, attach }: Suggestion) => {
    const draft = { text: prompt, files: [] };
    if (!attach) return void chat.send(draft);
    composer.current?.put(draft);
    composer.current?.chooseFiles();
  };
  const send = (draft: Draft) => {
    if (!busy || whileBusy === "interrupt") return void chat.send(draft);
    const queued = queue.add(draft);
    if (whileBusy === "steer") void queue.steer(queued);
  };
  const stop = () => {
    field.current?.focus();
    queue.pause(); // after a stop, queued messages wait until the user sends them
    void chat.stop();
  };
  const lastSent = useRef<Editable>(null);
  const editLast = () => {
    lastSent.current?.edit();
    return lastSent.current !== null;
  };
  const lastSentIndex = messages.findLastIndex(({ role }) => role === "user");
  const lastIndex = messages.length - 1;
  const failed = chat.outcomes.get(messages[lastIndex]?.id ?? "");
  const error = failed?.type === "failed" && failed.errorText === chat.error?.message ? undefined : chat.error; // the message already shows this error
  const outcomeOf = (index: number): Outcome | undefined => {
    const id = messages[index]?.id;
    if (id === undefined || (index === lastIndex && (busy || error))) return undefined;
    const isAnswered = messages[index]?.role === "user" && messages[index + 1]?.role === "assistant";
    return isAnswered ? undefined : chat.outcomes.get(id);
  };
  const reconnecting = chat.connection === "reconnecting";
  useEscape(busy, stop);
  useTabTitle(id, messages, busy, about?.agent);

  return (
    <div className="flex min-h-0 flex-1">
      <main className="relative flex min-h-0 min-w-0 flex-1 flex-col" {...attachments.dropTarget}>
        {messages.length === 0 && !busy && !chat.error ? (
          <Welcome about={about} missing={missing} onPick={pick} />
        ) : (
          <Conversation busy={busy} sent={messages.filter(({ role }) => role === "user").length}>
            <Drafts value={chat.drafts}>
              {messages.map((message, index) => (
                <Message
                  key={message.id}
                  message={message}
                  root={root}
                  agent={about?.agent}
                  live={busy && index === lastIndex}
                  answerable={!busy && index === lastIndex}
                  passed={index < lastIndex}
                  outcome={outcomeOf(index)}
                  busy={busy}
                  onApproval={chat.approve}
                  onOutput={chat.output}
                  editable={index === lastSentIndex ? lastSent : undefined}
                  onEdit={chat.edit}
                  onRetry={index === lastIndex ? chat.retry : undefined}
                  onRegenerate={index === lastIndex && (chat.error || chat.outcomes.has(message.id)) ? undefined : chat.regenerate} // Retry does the same
                  versions={chat.versions.get(message.id)}
                  onChoose={chat.choose}
                />
              ))}
            </Drafts>
            {reconnecting && <Waiting text="The connection was lost. Reconnecting…" />}
            {!reconnecting && (chat.status === "submitted" || (busy && !moves(messages.at(-1)))) && <Waiting />}
            {chat.choiceError && !busy && (
              <p role="alert" className="text-sm text-destructive">
                {chat.choiceError.message}
              </p>
            )}
            {error && (
              <Problem
                text={error.message}
                onRetry={error instanceof TooLargeError ? undefined : chat.retry}
                onDismiss={chat.clearError}
              />
            )}
          </Conversation>
        )}
        {queue.queued.length > 0 && (
          <Queued queue={queue} onEdit={(draft) => composer.current?.put(draft)} />
        )}
        <Composer
          ref={composer}
          field={field}
          attachments={attachments}
          model={model}
          agent={about?.agent}
          busy={busy}
          onSend={send}
          onStop={stop}
          onEditLast={editLast}
        />
        {attachments.over && (
          <p className="pointer-events-none absolute inset-3 z-20 grid place-items-center rounded-2xl border-2 border-dashed border-ring bg-background/85">
            Drop files to attach them
          </p>
        )}
        <Announcer status={chat.status} reconnecting={reconnecting} messages={messages} outcomes={chat.outcomes} />
      </main>
      {beside?.(chat)}
    </div>
  );
}
