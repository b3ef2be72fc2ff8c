import { Pencil } from "lucide-react";
import { useImperativeHandle, useState } from "react";
import { filesOf, textOf } from "../chat/message-types";
import { IconButton } from "../ui/icon-button";
import { Actions, CopyText, Versions } from "./Actions";
import { EditMessage } from "./EditMessage";
import { Ended } from "./Ended";
import { File } from "./File";
import type { MessageProps } from "./Message";

export function UserMessage({ message, outcome, busy, editable, onEdit, onRetry, versions, onChoose }: MessageProps) {
  const [editing, setEditing] = useState(false);
  const text = textOf(message);
  useImperativeHandle(editable, () => ({ edit: () => setEditing(true) }), []);
  const save = (changed: string) => {
    setEditing(false);
    onEdit?.(message.id, changed);
  };
  return (
    <>
      <article aria-label="You" className="flex flex-col items-end gap-2">
        <h2 className="sr-only">You</h2>
        {filesOf(message).map((file, index) => (
          <File key={index} part={file} />
        ))}
        {editing && <EditMessage text={text} onSave={save} onCancel={() => setEditing(false)} />}
        {!editing && (
          // On touch screens the buttons are below the text, otherwise beside it.
          <div className="flex w-full flex-col items-end gap-2 pointer-fine:flex-row-reverse">
            {text !== "" && <Words text={text} />}
            <Actions>
              <Versions versions={versions} busy={busy} onChoose={onChoose} />
              <CopyText text={text} />
              {onEdit && (
                <IconButton label="Edit" size="small icon" onClick={() => setEditing(true)}>
                  <Pencil />
                </IconButton>
              )}
            </Actions>
          </div>
        )}
      </article>
      {outcome && <Ended outcome={outcome} onRetry={onRetry} />}
    </>
  );
}

/** A longer message is collapsed, so the reply stays in view. */
const LONG = { lines: 12, characters: 1200 };

export function Words({ text }: { text: string }) {
  const [whole, showWhole] = useState(false);
  const long = text.length > LONG.characters || text.split("\n").length > LONG.lines;
  return (
    <div className="flex max-w-[85%] min-w-0 flex-col items-start rounded-2xl rounded-ee-md bg-accent px-4 py-2.5">
      <p dir="auto" className={`w-full whitespace-pre-wrap wrap-anywhere ${long && !whole ? "line-clamp-10" : ""}`}>
        {text}
      </p>
      {long && (
        <button type="button" aria-expanded={whole} onClick={() => showWhole(!whole)} className="mt-1 text-sm text-muted-foreground hover:text-foreground">
          {whole ? "Show less" : "Show all"}
        </button>
      )}
    </div>
  );
}
