import { type FormEvent, type KeyboardEvent, type ReactNode, useContext, useEffect, useRef } from "react";
import { StopFollowing } from "../chat/Conversation";

type PendingProps = {
  label: string;
  /** The question of a form. */
  question?: string | undefined;
  onSubmit?: () => void;
  children: ReactNode;
};

/**
 * A question that waits for the user. It takes the focus if nothing has it, or if it is in an empty text field. After
 * the answer, the next question gets the focus. Typed letters go to the message field.
 */
export function Pending({ label, question, onSubmit, children }: PendingProps) {
  const box = useRef<HTMLFormElement>(null);
  const stopFollowing = useContext(StopFollowing);
  useEffect(() => {
    if (isIdle(document.activeElement)) box.current?.focus({ preventScroll: true });
    if (box.current) showTop(box.current, stopFollowing);
    return () => {
      queueMicrotask(() => {
        if (document.activeElement !== document.body) return;
        const next = document.querySelector<HTMLElement>("[data-pending]") ?? messageField();
        next?.focus();
      });
    };
    // eslint-disable-next-line react-hooks/exhaustive-deps -- the focus moves only when the question appears
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isLetter = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isLetter && event.target === box.current) messageField()?.focus(); // then the browser types the letter there
  };
  return (
    <form
      ref={box}
      tabIndex={-1}
      data-pending
      aria-label={label}
      onSubmit={submit}
      onKeyDown={onKeyDown}
      className="flex flex-col gap-3 border-t p-3.5 outline-none"
    >
      {question !== undefined && (
        <p dir="auto" className="font-medium whitespace-pre-wrap wrap-anywhere">
          {question}
        </p>
      )}
      {children}
    </form>
  );
}

/** Scroll to the top of a card that is taller than the conversation, so its question is visible. */
function showTop(box: HTMLElement, stopFollowing: () => void): void {
  const card = box.closest<HTMLElement>("section") ?? box;
  const scroller = box.closest("[role=log]")?.parentElement;
  if (!scroller || card.offsetHeight <= scroller.clientHeight) return;
  stopFollowing();
  card.scrollIntoView({ block: "start" });
}

function messageField(): HTMLElement | null {
  return document.querySelector<HTMLElement>("main textarea[aria-label=Message]");
}

function isIdle(active: Element | null): boolean {
  return active === document.body || (active instanceof HTMLTextAreaElement && active.value === "");
}
