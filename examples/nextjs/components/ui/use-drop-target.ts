import { type DragEvent, useState } from "react";

/** Takes files that are dropped on an element. `over` is true while files are dragged over it. */
export function useDropTarget(onFiles: (files: FileList) => void) {
  const [over, setOver] = useState(false);
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
      onFiles(event.dataTransfer.files);
    },
  };
  return { over, dropTarget };
}
