import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { type FormEvent, type KeyboardEvent, useState } from "react";

type ComposerProps = {
  busy: boolean;
  onSend: (text: string, files: FileUIPart[]) => void;
  onStop: () => void;
};

export function Composer({ busy, onSend, onStop }: ComposerProps) {
  const [text, setText] = useState("");
  const [files, setFiles] = useState<FileUIPart[]>([]);
  const empty = text.trim() === "" && files.length === 0;

  const attach = async (picker: HTMLInputElement) => {
    const picked = await convertFileListToFileUIParts(picker.files ?? undefined);
    picker.value = ""; // so that the same file can be picked again
    setFiles((files) => [...files, ...picked]);
  };
  const send = (event?: FormEvent) => {
    event?.preventDefault();
    if (busy || empty) return;
    onSend(text.trim(), files);
    setText("");
    setFiles([]);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  };

  return (
    <form className="composer" onSubmit={send}>
      {files.length > 0 && (
        <p className="attached">
          {files.map((file) => file.filename ?? file.mediaType).join(", ")}
          <button type="button" className="plain" onClick={() => setFiles([])} aria-label="Remove attachments">
            ×
          </button>
        </p>
      )}
      <div className="line">
        <label className="attach">
          <span aria-hidden="true">+</span>
          <input
            type="file"
            multiple
            aria-label="Attach files"
            onChange={(event) => void attach(event.target)}
          />
        </label>
        <textarea
          value={text}
          rows={1}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={onKeyDown}
          placeholder="Write a message"
          aria-label="Message"
          autoFocus
        />
        {busy ? (
          <button type="button" onClick={onStop}>
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
