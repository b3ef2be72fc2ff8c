import type { FileUIPart } from "ai";
import { FileText, X } from "lucide-react";
import { Button } from "../ui/button";

type AttachedProps = { files: FileUIPart[]; onRemove: (file: FileUIPart) => void };

/** The files that go with the next message, each with its own way out. */
export function Attached({ files, onRemove }: AttachedProps) {
  if (files.length === 0) return null;
  return (
    <ul className="flex flex-wrap gap-2 px-1 pb-2" aria-label="Attached files">
      {files.map((file, index) => {
        const name = file.filename ?? file.mediaType;
        return (
          <li key={index} className="flex max-w-full items-center gap-2 rounded-lg border bg-muted p-1 text-sm">
            {file.mediaType.startsWith("image/") ? (
              <img src={file.url} alt="" className="size-8 rounded object-cover" />
            ) : (
              <FileText className="ms-1 size-4 shrink-0 text-muted-foreground" aria-hidden />
            )}
            <span dir="auto" className="max-w-48 truncate">
              {name}
            </span>
            <Button look="ghost" size="small icon" aria-label={`Remove ${name}`} onClick={() => onRemove(file)}>
              <X />
            </Button>
          </li>
        );
      })}
    </ul>
  );
}
