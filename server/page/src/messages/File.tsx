import type { FileUIPart } from "ai";
import { FileText } from "lucide-react";
import { Elsewhere, isOwn, Picture } from "./Elsewhere";

/** An image, a sound or a video that the page has; of anything else a link. */
export function File({ part: { mediaType, url, filename } }: { part: FileUIPart }) {
  const name = filename ?? mediaType;
  if (mediaType.startsWith("image/")) {
    return (
      <Picture
        className="max-h-96 max-w-full self-start rounded-xl border in-[[aria-label=You]]:max-h-56 in-[[aria-label=You]]:self-end"
        url={url}
        alt={filename ?? "Image from the conversation"}
      />
    );
  }
  if (isOwn(url) && mediaType.startsWith("audio/")) return <audio src={url} controls aria-label={name} className="max-w-full" />;
  if (isOwn(url) && mediaType.startsWith("video/")) {
    return <video src={url} controls aria-label={name} className="max-h-96 max-w-full self-start rounded-xl" />;
  }
  return (
    <Elsewhere className={FILE} url={url} download={filename ?? ""}>
      <FileText className="size-4 shrink-0" aria-hidden />
      <span dir="auto" className="truncate">
        {name}
      </span>
    </Elsewhere>
  );
}

export const FILE =
  "inline-flex max-w-full items-center gap-2 rounded-xl border bg-card px-3 py-2 text-sm transition-colors hover:bg-accent";
