import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { ArrowUp, Paperclip, Square, X } from "lucide-react";
import { type ClipboardEvent, type DragEvent, type FormEvent, type KeyboardEvent, type RefObject, useRef, useState } from "react";
import { Button } from "./button";

export type Draft = { text: string; files: FileUIPart[] };

type ComposerProps = {
  field: RefObject<HTMLTextAreaElement | null>;
  busy: boolean;
  onSend: (draft: Draft) => void;
  onStop: () => void;
};

/** Enter sends, Shift and Enter begins a line. The field is never disabled, so that it never loses the focus. */
export function Composer({ field, busy, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<FileUIPart[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  const empty = text.trim() === "" && files.length === 0;

  const attach = async (list: FileList | null) => {
    if (!list?.length) return;
    const picked = await convertFileListToFileUIParts(list);
    setFiles((files) => [...files, ...picked]);
    field.current?.focus();
  };
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    field.current?.focus();
    if (empty) return;
    onSend({ text: text.trim(), files });
    setText("");
    setFiles([]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onPaste = (event: ClipboardEvent) => {
    if (event.clipboardData.files.length > 0) event.preventDefault();
    void attach(event.clipboardData.files);
  };
  const onDrop = (event: DragEvent) => {
    event.preventDefault();
    void attach(event.dataTransfer.files);
  };

  return (
    <form
      onSubmit={submit}
      onDragOver={(event) => event.preventDefault()}
      onDrop={onDrop}
      className="mx-auto w-full max-w-3xl px-4 pb-[max(1rem,env(safe-area-inset-bottom))]"
    >
      <div className="rounded-2xl border bg-card p-2 shadow-sm focus-within:border-ring">
        {files.length > 0 && (
          <ul className="flex flex-wrap gap-2 p-1" aria-label="Attached files">
            {files.map((file, index) => (
              <Attached key={index} file={file} onRemove={() => setFiles(files.filter((other) => other !== file))} />
            ))}
          </ul>
        )}
        <textarea
          ref={field}
          value={text}
          rows={1}
          autoFocus
          aria-label="Message"
          placeholder="Write a message"
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
          className="field-sizing-content block max-h-48 min-h-10 w-full resize-none bg-transparent px-2 py-2 text-base outline-none placeholder:text-muted-foreground"
        />
        <div className="flex items-center justify-between">
          <Button look="ghost" size="icon" aria-label="Attach files" onClick={() => picker.current?.click()}>
            <Paperclip />
          </Button>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            data-attach
            onChange={({ target }) => void attach(target.files).finally(() => (target.value = ""))}
          />
          {busy && empty ? (
            <Button size="icon" className="rounded-full" aria-label="Stop" onClick={onStop}>
              <Square fill="currentColor" />
            </Button>
          ) : (
            <Button type="submit" look="primary" size="icon" className="rounded-full" aria-label="Send" disabled={empty}>
              <ArrowUp />
            </Button>
          )}
        </div>
      </div>
    </form>
  );
}

function Attached({ file, onRemove }: { file: FileUIPart; onRemove: () => void }) {
  return (
    <li className="flex items-center gap-2 rounded-lg border bg-muted py-1 pr-1 pl-2 text-sm">
      {file.mediaType.startsWith("image/") && <img src={file.url} alt="" className="size-8 rounded object-cover" />}
      <span className="max-w-40 truncate">{file.filename ?? file.mediaType}</span>
      <Button look="ghost" size="small" aria-label={`Remove ${file.filename ?? "file"}`} onClick={onRemove}>
        <X />
      </Button>
    </li>
  );
}
