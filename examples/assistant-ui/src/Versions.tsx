import type { UseChatHelpers } from "@ai-sdk/react";
import {
  type AssistantRuntime,
  BranchPickerPrimitive,
  bindExternalStoreMessage,
  type ExportedMessageRepository,
  fromThreadMessageLike,
  type ThreadMessage,
} from "@assistant-ui/react";
import type { UIMessage } from "ai";
import { useCallback, useEffect, useState } from "react";
import { chooseVersion, loadChat, type MessageVersions } from "./server";

/** A version that the chat does not show: a branch without content, because only the server has the content. */
function hiddenVersion(id: string, role: "user" | "assistant"): ThreadMessage {
  const message = fromThreadMessageLike({ id, role, content: [] }, id, { type: "complete", reason: "stop" });
  bindExternalStoreMessage<UIMessage>(message, { id, role, parts: [] });
  return message;
}

/** assistant-ui's tree: the messages that the chat shows, and beside each message its other versions. */
function treeOf(shown: readonly ThreadMessage[], versions: MessageVersions[]): ExportedMessageRepository {
  const messages = shown.flatMap((message, index) => {
    const { ids, current } = versions.find((each) => each.messageId === message.id) ?? { ids: [message.id], current: 0 };
    const role = message.role === "user" ? "user" : "assistant";
    return ids.map((id, number) => ({
      parentId: shown[index - 1]?.id ?? null,
      message: number === current ? message : hiddenVersion(id, role),
    }));
  });
  return { headId: shown.at(-1)?.id ?? null, messages };
}

/** Gives the server's versions to `BranchPickerPrimitive`, and tells the server which version the user picks. */
export function useVersions(
  id: string,
  loaded: MessageVersions[],
  runtime: AssistantRuntime,
  { messages, setMessages }: UseChatHelpers<UIMessage>,
) {
  const [versions, setVersions] = useState(loaded);
  const reload = useCallback(async () => setVersions((await loadChat(id)).versions ?? []), [id]);

  useEffect(() => {
    const { messages: shown, isRunning } = runtime.thread.getState();
    if (versions.length > 0 && !isRunning) runtime.thread.import(treeOf(shown, versions));
  }, [runtime, versions]);

  const picked = messages.find((message) => versions.some(({ ids }) => ids.includes(message.id)))?.id;
  useEffect(() => {
    if (picked === undefined) return;
    void chooseVersion(id, picked).then((chat) => {
      setMessages(chat.messages);
      setVersions(chat.versions ?? []);
    });
  }, [id, picked, setMessages]);

  return reload;
}

/** `< 2/3 >` at a message with several versions. */
export function BranchPicker() {
  return (
    <BranchPickerPrimitive.Root hideWhenSingleBranch role="group" aria-label="Versions">
      <BranchPickerPrimitive.Previous aria-label="Previous version">‹</BranchPickerPrimitive.Previous>
      <BranchPickerPrimitive.Number />/<BranchPickerPrimitive.Count />
      <BranchPickerPrimitive.Next aria-label="Next version">›</BranchPickerPrimitive.Next>
    </BranchPickerPrimitive.Root>
  );
}
