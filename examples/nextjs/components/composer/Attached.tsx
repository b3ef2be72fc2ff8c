import type { FileUIPart } from "ai";
import { FileText, X } from "lucide-react";
import { useState } from "react";
import { bytesIn, shownSize } from "../messages/file-size";
import { Button } from "../ui/button";

type AttachedProps = { files: FileUIPart[]; refused: string[]; onRemove: (file: FileUIPart) => void };

/** The files of the next message, each with a Remove button, and the reasons why other files were refused. */
export function Attached({ files, refused, onRemove }: AttachedProps) {
  return (
    <>
      {refused.length > 0 && (
        <p role="alert" className="px-2 pb-2 text-sm whitespace-pre-line text-destructive wrap-anywhere">
          {refused.join("\n")}
        </p>
      )}
      {files.length > 0 && <Chips files={files} onRemove={onRemove} />}
    </>
  );
}

function Chips({ files, onRemove }: Omit<AttachedProps, "refused">) {
  return (
    <ul className="flex flex-wrap gap-2 px-1 pb-2" aria-label="Attached files">
      {files.map((file, index) => {
        const name = file.filename ?? file.mediaType;
        const size = bytesIn(file.url);
        return (
          <li key={index} className="flex max-w-full items-center gap-2 rounded-lg border bg-muted p-1 text-sm pointer-coarse:py-0">
            <Look file={file} />
            <span dir="auto" className="max-w-48 truncate">
              {name}
            </span>
            {size !== undefined && <span className="text-xs text-muted-foreground">{shownSize(size)}</span>}
            <Button look="ghost" size="small icon" aria-label={`Remove ${name}`} onClick={() => onRemove(file)}>
              <X />
            </Button>
          </li>
        );
      })}
    </ul>
  );
}

/** The image, or an icon if the browser cannot show it. */
function Look({ file: { mediaType, url } }: { file: FileUIPart }) {
  const [broken, setBroken] = useState<string>(); // a URL: when a file is removed, the next one takes its place here
  if (broken === url || !mediaType.startsWith("image/")) {
    return <FileText className="ms-1 size-4 shrink-0 text-muted-foreground" aria-hidden />;
  }
  return <img src={url} alt="" className="size-8 rounded object-cover" onError={() => setBroken(url)} />;
}
