import { ArrowUp, Paperclip, Square } from "lucide-react";
import { type ClipboardEvent, type FormEvent, type KeyboardEvent, type Ref, type RefObject, useImperativeHandle, useRef } from "react";
import type { Draft } from "../chat/message-types";
import { IconButton } from "../ui/icon-button";
import { Attached } from "./Attached";
import type { Attachments } from "./use-attachments";
import { useTypedText } from "./use-typed-text";

export type ComposerHandle = {
  /** Inserts a draft before the typed text. */
  put: (draft: Draft) => void;
  /** Opens the file dialog. */
  chooseFiles: () => void;
};

type ComposerProps = {
  ref?: Ref<ComposerHandle>;
  field: RefObject<HTMLTextAreaElement | null>;
  attachments: Attachments;
  /** The model of the last reply, or all possible models. `undefined` if the agent has only one. */
  model: string | undefined;
  agent: string | undefined;
  busy: boolean;
  onSend: (draft: Draft) => void;
  onStop: () => void;
  /** Edits the user's last message. Returns `false` if there is none. */
  onEditLast: () => boolean;
};

/**
 * The message field. Enter sends, and Shift+Enter starts a new line. `onSend` decides what to do while a reply is
 * streaming. The field keeps the focus.
 */
export function Composer({ ref, field, attachments, model, agent, busy, onSend, onStop, onEditLast }: ComposerProps) {
  const [text, setText] = useTypedText();
  const picker = useRef<HTMLInputElement>(null);
  const { files } = attachments;
  const empty = text.trim() === "" && files.length === 0;

  useImperativeHandle(ref, () => ({
    put: (draft: Draft) => {
      setText([draft.text, text].filter((each) => each !== "").join("\n"));
      attachments.put(draft.files);
      field.current?.focus();
    },
    chooseFiles: () => picker.current?.click(),
  }));

  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    field.current?.focus();
    if (empty) return;
    setText(""); // first, because sending may change the URL, and the text is stored by URL
    onSend({ text: text.trim(), files });
    attachments.clear();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowUp" && empty && onEditLast()) event.preventDefault();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length === 0) return;
    event.preventDefault();
    void attachments.add(event.clipboardData.files);
  };

  return (
    // The messages behind the field fade out.
    <form
      onSubmit={submit}
      className="relative mx-auto w-full max-w-3xl px-4 pb-[max(1rem,env(safe-area-inset-bottom))] before:pointer-events-none before:absolute before:inset-x-0 before:bottom-full before:h-6 before:bg-linear-to-t before:from-background before:to-transparent"
    >
      <div className="rounded-2xl border bg-card p-2 shadow-sm transition-colors focus-within:border-ring">
        <Attached files={files} refused={attachments.refused} onRemove={attachments.remove} />
        <textarea
          ref={field}
          value={text}
          rows={1}
          dir="auto"
          autoFocus
          aria-label="Message"
          placeholder={agent === undefined ? "Write a message" : `Message ${agent}`}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          className="field-sizing-content block max-h-48 min-h-10 w-full resize-none bg-transparent px-2 py-2 outline-none placeholder:text-muted-foreground"
        />
        <div className="flex items-center justify-between">
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Files"
            onChange={({ target }) => void attachments.add(target.files).finally(() => (target.value = ""))}
          />
          <IconButton label="Attach files" className="me-auto" onClick={() => picker.current?.click()}>
            <Paperclip />
          </IconButton>
          {model && (
            <span className="me-2 truncate text-xs text-muted-foreground" title="The model that answers">
              {model}
            </span>
          )}
          {busy && (
            <IconButton label="Stop" keys="Esc" look="outline" size="round" onClick={onStop}>
              <Square fill="currentColor" />
            </IconButton>
          )}
          {!(busy && empty) && (
            <IconButton label="Send" keys="Enter" type="submit" look="primary" size="round" className="ms-2" disabled={empty}>
              <ArrowUp />
            </IconButton>
          )}
        </div>
      </div>
    </form>
  );
}
