import { type FormEvent, type KeyboardEvent, type ReactNode, useContext, useEffect, useRef } from "react";
import { StopFollowing } from "../chat/Conversation";

type PendingProps = {
  label: string;
  /** Of a form: what the tool or the agent asks. */
  question?: string | undefined;
  onSubmit?: () => void;
  children: ReactNode;
};

/**
 * What waits for the user. The focus comes to it where it would be lost, or lies in an empty text field; once it is
 * done the focus goes on to what waits next. Letters that are typed meanwhile are a message.
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
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const isLetter = event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (isLetter && event.target === box.current) messageField()?.focus(); // the letter goes there
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

/** Scrolls to the top of a card that is higher than the conversation: its question is read first. */
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
