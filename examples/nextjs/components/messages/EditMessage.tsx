import { type FormEvent, type KeyboardEvent, useId, useState } from "react";
import { Button } from "../ui/button";

type EditMessageProps = { text: string; onSave: (text: string) => void; onCancel: () => void };

/** Form to edit a message. The old text and the replies to it stay as a version of the message. */
export function EditMessage({ text: old, onSave, onCancel }: EditMessageProps) {
  const [text, setText] = useState(old);
  const note = useId();
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (text.trim()) onSave(text.trim());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Escape") {
      event.preventDefault(); // Escape must not stop the reply
      onCancel();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) save(event);
  };
  return (
    <form onSubmit={save} className="w-full rounded-2xl border bg-card p-3 focus-within:border-ring">
      <textarea
        value={text}
        dir="auto"
        autoFocus
        aria-label="Edit message"
        aria-describedby={note}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content block max-h-64 w-full resize-none bg-transparent px-1 outline-none"
      />
      <div className="mt-3 flex flex-wrap items-center justify-end gap-2">
        <p id={note} className="me-auto px-1 text-xs text-muted-foreground">
          Sending it makes a new version of the chat from here.
        </p>
        <Button size="small" look="ghost" onClick={onCancel}>
          Cancel
        </Button>
        <Button size="small" type="submit" look="primary" disabled={!text.trim()}>
          Send
        </Button>
      </div>
    </form>
  );
}
