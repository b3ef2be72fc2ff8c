import { convertFileListToFileUIParts, type FileUIPart } from "ai";
import { useState } from "react";
import { bytesIn, shownSize } from "../messages/file-size";
import { useDropTarget } from "../ui/use-drop-target";

export type Attachments = ReturnType<typeof useAttachments>;

/** The server's limits in bytes, for one file and for a request with all its files. */
export type SizeLimits = { maxFileBytes?: number; maxMessageBytes?: number };

/** The server's default limits. */
const DEFAULTS = { maxFileBytes: 20 * 2 ** 20, maxMessageBytes: 32 * 2 ** 20 };

/** The share of a request for files. Base64 makes them a third longer, and the text needs room. */
const FILES_SHARE = 0.74;

/** The files of the next message. `onAttached` is called when files were added. */
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
    /** The reasons why files were refused. */
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
    /** True while files are dragged over the chat. */
    over,
    dropTarget,
  };
}
