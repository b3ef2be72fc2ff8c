import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { type ChangeEvent, type FormEvent, type KeyboardEvent, type RefObject, useRef, useState } from "react";

type ComposerProps = {
  field: RefObject<HTMLTextAreaElement | null>;
  busy: boolean;
  onSend: (message: { text: string; files: FileUIPart[] }) => void;
  onStop: () => void;
};

export function Composer({ field, busy, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<FileUIPart[]>([]);
  const picker = useRef<HTMLInputElement>(null);
  const empty = text.trim() === "" && files.length === 0;

  const attach = async ({ target }: ChangeEvent<HTMLInputElement>) => {
    const picked = await convertFileListToFileUIParts(target.files ?? undefined);
    setFiles((files) => [...files, ...picked]);
    target.value = "";
    field.current?.focus();
  };
  const send = (event: FormEvent) => {
    event.preventDefault();
    field.current?.focus();
    if (busy || empty) return;
    onSend({ text: text.trim(), files });
    setText("");
    setFiles([]);
  };
  const stop = () => {
    field.current?.focus();
    onStop();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "Enter" && !event.shiftKey && !event.nativeEvent.isComposing) send(event);
  };

  return (
    <form className="composer" onSubmit={send}>
      {files.map((file) => (
        <span key={file.url} className="attached">
          {file.filename ?? file.mediaType}
          <button type="button" aria-label={`Remove ${file.filename}`} onClick={() => setFiles(files.filter((other) => other !== file))}>
            ×
          </button>
        </span>
      ))}
      <textarea
        ref={field}
        value={text}
        rows={1}
        autoFocus
        aria-label="Message"
        placeholder="Write a message"
        onChange={({ target }) => setText(target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="row">
        <button type="button" aria-label="Attach files" onClick={() => picker.current?.click()}>
          +
        </button>
        <input ref={picker} type="file" multiple hidden onChange={(event) => void attach(event)} />
        {busy ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="submit" className="primary" disabled={empty}>
            Send
          </button>
        )}
      </div>
    </form>
  );
}
