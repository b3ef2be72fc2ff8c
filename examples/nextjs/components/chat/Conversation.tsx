import { ArrowDown } from "lucide-react";
import { createContext, type ReactNode, useEffect, useRef } from "react";
import { StickToBottom, useStickToBottomContext } from "use-stick-to-bottom";
import { IconButton } from "../ui/icon-button";

const STILL = typeof window !== "undefined" && window.matchMedia("(prefers-reduced-motion: reduce)").matches;

/** `sent`: how many messages are the user's. */
type ConversationProps = { busy: boolean; sent: number; children: ReactNode };

/** The messages. What is new stays in view, until the reader scrolls up; what is sent always. */
export function Conversation({ busy, sent, children }: ConversationProps) {
  return (
    <StickToBottom className="relative flex min-h-0 flex-1 flex-col" initial="instant" resize={STILL ? "instant" : "smooth"}>
      <StickToBottom.Content
        role="log"
        aria-live="off" // every word would be read: the announcer says what matters
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

/** Keeps what is new out of view: the reader is shown something else. */
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
    // A finger gets a row of its own, so that the button covers nothing to press.
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
