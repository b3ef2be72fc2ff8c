import type { FileUIPart } from "ai";
import { FileText } from "lucide-react";
import { isOwn } from "@/lib/own-url";
import { Elsewhere } from "./elsewhere";

/** A file of this app or of the message itself; a link to one elsewhere. */
export function File({ part: { mediaType, url, filename } }: { part: FileUIPart }) {
  const name = filename ?? mediaType;
  if (!isOwn(url)) return <Elsewhere url={url} name={name} />;
  if (mediaType.startsWith("image/")) {
    return <img src={url} alt={filename ?? "Image of this conversation"} className="max-h-96 max-w-full rounded-xl border" />;
  }
  if (mediaType.startsWith("audio/")) return <audio src={url} controls aria-label={name} />;
  if (mediaType.startsWith("video/")) return <video src={url} controls aria-label={name} className="max-h-96 rounded-xl" />;
  return (
    <a href={url} download={filename ?? ""} className="inline-flex max-w-full items-center gap-2 rounded-xl border bg-card px-3 py-2 text-sm hover:bg-accent">
      <FileText className="size-4 shrink-0" aria-hidden />
      <span className="truncate">{name}</span>
    </a>
  );
}
