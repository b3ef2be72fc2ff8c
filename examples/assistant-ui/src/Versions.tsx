import { useAuiState } from "@assistant-ui/react";
import type { UIMessage } from "ai";
import { createContext, useCallback, useContext, useState } from "react";
import { chooseVersion, loadChat, type MessageVersions } from "./server";

type Versions = { all: MessageVersions[]; choose: (version: string) => Promise<void> };

export const VersionsContext = createContext<Versions>({ all: [], choose: async () => undefined });

/** The versions of a chat's messages, which the server keeps: a reload finds them, and the agent follows a choice. */
export function useVersions(id: string, loaded: MessageVersions[], show: (messages: UIMessage[]) => void) {
  const [all, setAll] = useState(loaded);
  const reload = useCallback(async () => setAll((await loadChat(id)).versions ?? []), [id]);
  const choose = async (version: string) => {
    const chat = await chooseVersion(id, version);
    show(chat.messages);
    setAll(chat.versions ?? []);
  };
  return { all, choose, reload };
}

/** `< 2/3 >`, in the place of assistant-ui's `BranchPickerPrimitive`, which knows only the branches of this tab. */
export function BranchPicker() {
  const { all, choose } = useContext(VersionsContext);
  const messageId = useAuiState(({ message }) => message.id);
  const running = useAuiState(({ thread }) => thread.isRunning);
  const versions = all.find((each) => each.messageId === messageId);
  if (versions === undefined) return null;
  const { current, ids } = versions;
  const arrow = (label: string, to: number, text: string) => (
    <button type="button" aria-label={label} disabled={running || !(to in ids)} onClick={() => void choose(ids[to] ?? "")}>
      {text}
    </button>
  );
  return (
    <span role="group" aria-label="Versions">
      {arrow("Previous version", current - 1, "‹")}
      {`${current + 1}/${ids.length}`}
      {arrow("Next version", current + 1, "›")}
    </span>
  );
}
