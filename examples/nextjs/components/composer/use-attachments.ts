import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { useState } from "react";
import { useDropTarget } from "../ui/use-drop-target";

export type Attachments = ReturnType<typeof useAttachments>;

/** The files that go with the next message. `onAttached` is called when some were added. */
export function useAttachments(onAttached: () => void) {
  const [files, setFiles] = useState<FileUIPart[]>([]);

  const add = async (list: FileList | null) => {
    if (!list?.length) return;
    const added = await convertFileListToFileUIParts(list);
    setFiles((files) => [...files, ...added]);
    onAttached();
  };
  const { over, dropTarget } = useDropTarget((list) => void add(list));
  return {
    files,
    add,
    /** Adds files that were attached before. */
    put: (more: FileUIPart[]) => setFiles((files) => [...files, ...more]),
    remove: (file: FileUIPart) => setFiles((files) => files.filter((other) => other !== file)),
    clear: () => setFiles([]),
    /** Files are being dragged over the chat. */
    over,
    dropTarget,
  };
}
