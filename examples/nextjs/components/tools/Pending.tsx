import { type FormEvent, type ReactNode, useEffect, useRef } from "react";

type PendingProps = {
  label: string;
  /** Of a form: what the tool or the agent asks. */
  question?: string | undefined;
  onSubmit?: () => void;
  children: ReactNode;
};

/**
 * What waits for the user. The focus comes to it where it would be lost, or lies in an empty field for words; once it is
 * done the focus goes on to what waits next.
 */
export function Pending({ label, question, onSubmit, children }: PendingProps) {
  const box = useRef<HTMLFormElement>(null);
  useEffect(() => {
    if (isIdle(document.activeElement)) box.current?.focus({ preventScroll: true });
    return () => {
      queueMicrotask(() => {
        if (document.activeElement !== document.body) return;
        const next = document.querySelector<HTMLElement>("[data-pending]") ?? document.querySelector("main textarea[aria-label=Message]");
        next?.focus();
      });
    };
  }, []);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit?.();
  };
  return (
    <form
      ref={box}
      tabIndex={-1}
      data-pending
      aria-label={label}
      onSubmit={submit}
      className="flex flex-col gap-3 border-t p-3.5 outline-none focus-visible:bg-accent/50"
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

function isIdle(active: Element | null): boolean {
  return active === document.body || (active instanceof HTMLTextAreaElement && active.value === "");
}
