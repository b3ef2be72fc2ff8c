import { ArrowDown } from "lucide-react";
import type { ReactNode } from "react";
import { StickToBottom, useStickToBottomContext } from "use-stick-to-bottom";
import { Button } from "./button";

/** The messages. What is new stays in view, until the reader scrolls up. */
export function Conversation({ busy, empty, children }: { busy: boolean; empty: boolean; children: ReactNode }) {
  return (
    <StickToBottom className="relative min-h-0 flex-1" initial="instant" resize="smooth">
      <StickToBottom.Content
        role="log"
        aria-label="Conversation"
        aria-busy={busy}
        className="mx-auto flex min-h-full max-w-3xl flex-col gap-4 px-4 py-6"
      >
        {empty && (
          <div className="m-auto text-center">
            <h1 className="text-2xl font-semibold">What can I do for you?</h1>
            <p className="mt-2 text-muted-foreground">Write a message to begin.</p>
          </div>
        )}
        {children}
      </StickToBottom.Content>
      <ToEnd />
    </StickToBottom>
  );
}

function ToEnd() {
  const { isAtBottom, scrollToBottom } = useStickToBottomContext();
  if (isAtBottom) return null;
  return (
    <Button
      size="icon"
      className="absolute bottom-3 left-1/2 -translate-x-1/2 rounded-full shadow-md"
      aria-label="Scroll to the end"
      onClick={() => void scrollToBottom()}
    >
      <ArrowDown />
    </Button>
  );
}
