import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { type DragEvent, useState } from "react";

export type Attachments = ReturnType<typeof useAttachments>;

/** The files that go with the next message. `onAttached` is called when some were added. */
export function useAttachments(onAttached: () => void) {
  const [files, setFiles] = useState<FileUIPart[]>([]);
  const [over, setOver] = useState(false);

  const add = async (list: FileList | null) => {
    if (!list?.length) return;
    const added = await convertFileListToFileUIParts(list);
    setFiles((files) => [...files, ...added]);
    onAttached();
  };
  const dropTarget = {
    onDragOver: (event: DragEvent) => {
      if (!event.dataTransfer.types.includes("Files")) return;
      event.preventDefault();
      setOver(true);
    },
    onDragLeave: (event: DragEvent) => {
      if (!event.currentTarget.contains(event.relatedTarget as Node | null)) setOver(false);
    },
    onDrop: (event: DragEvent) => {
      event.preventDefault();
      setOver(false);
      void add(event.dataTransfer.files);
    },
  };
  return {
    files,
    add,
    remove: (file: FileUIPart) => setFiles((files) => files.filter((other) => other !== file)),
    clear: () => setFiles([]),
    /** Files are being dragged over the chat. */
    over,
    dropTarget,
  };
}
