import type { Chat } from "@ai-sdk/react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { chooseVersion, loadChat } from "./chat-api";
import { useHost } from "./host";
import type { ChatMessage, MessageVersions, StoredChat } from "./message-types";

/** The versions of the messages, and a function to select one. `stored`: the versions loaded with the chat. */
export function useVersions(
  state: Chat<ChatMessage>,
  status: string,
  stored: MessageVersions[] | undefined,
  showStored: (chat: StoredChat) => void,
) {
  const { api } = useHost();
  const [versions, setVersions] = useState(stored ?? []);
  const [choiceError, setChoiceError] = useState<Error>();
  const replaced = useRef(false);
  /** Call this before a message is replaced, so its new version is loaded when it is stored. */
  const noteReplaced = useCallback(() => {
    replaced.current = true;
  }, []);
  useEffect(() => {
    if (!replaced.current || status === "submitted" || status === "streaming") return;
    replaced.current = false;
    loadChat(api, state.id).then((chat) => setVersions(chat?.versions ?? []), () => undefined);
  }, [api, state, status]);
  const choose = useCallback(
    async (version: string) => {
      setChoiceError(undefined);
      try {
        const chat = await chooseVersion(api, state.id, version);
        showStored(chat);
        setVersions(chat.versions ?? []);
      } catch (error) {
        setChoiceError(error as Error);
      }
    },
    [api, state, showStored],
  );
  const byMessage = useMemo(() => new Map(versions.map((each) => [each.messageId, each])), [versions]);
  return { versions: byMessage, choiceError, choose, noteReplaced };
}
