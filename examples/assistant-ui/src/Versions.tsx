import type { UseChatHelpers } from "@ai-sdk/react";
import { BranchPickerPrimitive, type MessageFormatRepository } from "@assistant-ui/react";
import { useAISDKRuntime } from "@assistant-ui/react-ai-sdk";
import type { UIMessage } from "ai";
import { useEffect, useRef } from "react";
import { flushSync } from "react-dom";
import { chooseVersion, loadChat, type StoredChat } from "./server";

type Chat = UseChatHelpers<UIMessage>;
type Options = Parameters<typeof useAISDKRuntime>[1];
type Stored = MessageFormatRepository<UIMessage>;

/** The shown messages, with an empty message in place of each other version: its `metadata` has the version's id. */
function toRepository({ messages, versions = [] }: StoredChat): Stored {
  const items: Stored["messages"] = [];
  let parentId: string | null = null;
  for (const message of messages) {
    const found = versions.find(({ messageId }) => messageId === message.id);
    for (const [index, version] of (found?.ids ?? [message.id]).entries()) {
      const id = `version ${version} of ${message.id}`;
      const other: UIMessage = { id, role: message.role, metadata: { version }, parts: [{ type: "text", text: "…" }] };
      items.push({ parentId, message: index === (found?.current ?? 0) ? message : other });
    }
    parentId = message.id;
  }
  return { headId: parentId, messages: items };
}

/** A runtime whose branches are the versions that the server keeps. */
export function useVersionedRuntime(chat: Chat, options: Options) {
  const running = chat.status === "submitted" || chat.status === "streaming";
  const latest = useRef({ running, hasVersions: false });
  latest.current.running = running;
  const show = (stored: StoredChat) => {
    const hasVersions = stored.versions !== undefined;
    if (latest.current.running || !(hasVersions || latest.current.hasVersions)) return;
    latest.current.hasVersions = hasVersions;
    flushSync(() => runtime.thread.reset()); // an import alone would keep the branches of this tab, too
    runtime.thread.importExternalState(toRepository(stored));
  };
  /** assistant-ui calls this with the messages of the branch that the user has chosen. */
  const setMessages: Chat["setMessages"] = (messages) => {
    const last = typeof messages === "function" ? undefined : messages.at(-1);
    const { version } = (last?.metadata ?? {}) as { version?: string };
    if (version === undefined) chat.setMessages(messages);
    else void chooseVersion(chat.id, version).then(show);
  };
  const runtime = useAISDKRuntime({ ...chat, setMessages }, options);
  useEffect(() => {
    if (!running) void loadChat(chat.id).then(show, () => undefined);
  }, [chat.id, running]);
  return runtime;
}

export function BranchPicker() {
  return (
    <BranchPickerPrimitive.Root hideWhenSingleBranch role="group" aria-label="Versions">
      <BranchPickerPrimitive.Previous aria-label="Previous version">‹</BranchPickerPrimitive.Previous>
      <BranchPickerPrimitive.Number />/<BranchPickerPrimitive.Count />
      <BranchPickerPrimitive.Next aria-label="Next version">›</BranchPickerPrimitive.Next>
    </BranchPickerPrimitive.Root>
  );
}
