import { Pencil } from "lucide-react";
import { useState } from "react";
import { filesOf, textOf } from "../chat/message-types";
import { IconButton } from "../ui/icon-button";
import { Actions, CopyText } from "./Actions";
import { EditMessage } from "./EditMessage";
import { File } from "./File";
import type { MessageProps } from "./Message";

export function UserMessage({ message, onEdit }: MessageProps) {
  const [editing, setEditing] = useState(false);
  const text = textOf(message);
  const save = (changed: string) => {
    setEditing(false);
    onEdit(message.id, changed);
  };
  return (
    <article aria-label="You" className="group/message flex flex-col items-end gap-2">
      <h2 className="sr-only">You</h2>
      {filesOf(message).map((file, index) => (
        <File key={index} part={file} />
      ))}
      {editing && <EditMessage text={text} onSave={save} onCancel={() => setEditing(false)} />}
      {!editing && text !== "" && (
        <p dir="auto" className="max-w-[85%] rounded-2xl rounded-ee-md bg-accent px-4 py-2.5 whitespace-pre-wrap wrap-anywhere">
          {text}
        </p>
      )}
      {!editing && (
        <Actions>
          <CopyText text={text} />
          <IconButton label="Edit" size="small icon" onClick={() => setEditing(true)}>
            <Pencil />
          </IconButton>
        </Actions>
      )}
    </article>
  );
}
