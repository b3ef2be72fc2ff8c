import { ArrowDown } from "lucide-react";
import { createContext, type ReactNode, useEffect, useRef } from "react";
import { StickToBottom, useStickToBottomContext } from "use-stick-to-bottom";
import { IconButton } from "../ui/icon-button";

const STILL = typeof window !== "undefined" && window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** `sent`: the number of the user's messages. */
type ConversationProps = { busy: boolean; sent: number; children: ReactNode };

/** The messages. The view follows the reply until the user scrolls up. A sent message always scrolls into view. */
export function Conversation({ busy, sent, children }: ConversationProps) {
  return (
    <StickToBottom className="relative flex min-h-0 flex-1 flex-col" initial="instant" resize={STILL ? "instant" : "smooth"}>
      <StickToBottom.Content
        role="log"
        aria-live="off" // a screen reader would read every word: `Announcer` reports the changes
        aria-label="Conversation"
        aria-busy={busy}
        className="relative mx-auto flex min-h-full w-full max-w-3xl flex-col gap-4 px-4 pt-6 pb-8"
      >
        <WithFollowing>{children}</WithFollowing>
      </StickToBottom.Content>
      <ToEnd sent={sent} />
    </StickToBottom>
  );
}

/** Stops following the reply, because another part of the chat is in view. */
export const StopFollowing = createContext<() => void>(() => undefined);

function WithFollowing({ children }: { children: ReactNode }) {
  return <StopFollowing value={useStickToBottomContext().stopScroll}>{children}</StopFollowing>;
}

function ToEnd({ sent }: { sent: number }) {
  const { isAtBottom, scrollToBottom } = useStickToBottomContext();
  const before = useRef(sent);
  useEffect(() => {
    if (sent > before.current) void scrollToBottom("instant");
    before.current = sent;
  }, [sent, scrollToBottom]);
  if (isAtBottom) return null;
  return (
    // On touch screens the button has its own row, so it covers no other control.
    <div className="flex justify-center pointer-coarse:relative pointer-coarse:z-10 pointer-coarse:py-1 pointer-fine:absolute pointer-fine:inset-x-0 pointer-fine:bottom-3">
      <IconButton
        label="Scroll to the end"
        look="outline"
        size="round"
        className="shadow-md"
        onClick={() => void scrollToBottom(STILL ? "instant" : "smooth")}
      >
        <ArrowDown />
      </IconButton>
    </div>
  );
}
