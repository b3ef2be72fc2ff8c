import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { useState } from "react";
import { bytesIn, shownSize } from "../messages/file-size";
import { useDropTarget } from "../ui/use-drop-target";

export type Attachments = ReturnType<typeof useAttachments>;

/** What the server accepts, in bytes: of one file, and of a request with all of its files. */
export type SizeLimits = { maxFileBytes?: number; maxMessageBytes?: number };

/** The server's limits by default. */
const DEFAULTS = { maxFileBytes: 20 * 2 ** 20, maxMessageBytes: 32 * 2 ** 20 };

/** The share of a request that the files can have: base64 makes them a third longer, and the text needs room. */
const FILES_SHARE = 0.74;

/** The files that go with the next message. `onAttached` is called when some were added. */
export function useAttachments(limits: SizeLimits | undefined, onAttached: () => void) {
  const { maxFileBytes, maxMessageBytes } = { ...DEFAULTS, ...limits };
  const [files, setFiles] = useState<FileUIPart[]>([]);
  const [refused, setRefused] = useState<string[]>([]);

  const add = async (list: FileList | null) => {
    if (!list?.length) return;
    const whole = Math.floor(maxMessageBytes * FILES_SHARE);
    const taken = new DataTransfer();
    const reasons: string[] = [];
    let sum = files.reduce((bytes, { url }) => bytes + (bytesIn(url) ?? 0), 0);
    for (const file of list) {
      if (file.size > maxFileBytes) {
        reasons.push(`${file.name} has ${shownSize(file.size)}. A file can have ${shownSize(maxFileBytes)} at most.`);
      } else if (sum + file.size > whole) {
        reasons.push(`${file.name} is too much for one message. All files together can have ${shownSize(whole)} at most.`);
      } else {
        sum += file.size;
        taken.items.add(file);
      }
    }
    setRefused(reasons);
    const added = await convertFileListToFileUIParts(taken.files);
    setFiles((files) => [...files, ...added]);
    onAttached();
  };
  const { over, dropTarget } = useDropTarget((list) => void add(list));
  return {
    files,
    /** Why files were not attached. */
    refused,
    add,
    /** Adds files that were attached before. */
    put: (more: FileUIPart[]) => setFiles((files) => [...files, ...more]),
    remove: (file: FileUIPart) => {
      setRefused([]);
      setFiles((files) => files.filter((other) => other !== file));
    },
    clear: () => {
      setRefused([]);
      setFiles([]);
    },
    /** Files are being dragged over the chat. */
    over,
    dropTarget,
  };
}
