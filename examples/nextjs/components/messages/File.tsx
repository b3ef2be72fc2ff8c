import type { FileUIPart } from "ai";
import { Download, FileText } from "lucide-react";
import { useEffect, useState } from "react";
import { Json } from "../tools/Json";
import { Collapsible } from "../ui/collapsible";
import { Elsewhere, isOwn, Picture } from "./Elsewhere";
import { bytesIn, shownSize, splitDataUrl } from "./file-size";

/** `from`: the tool that returned the file. */
type FileProps = { part: FileUIPart; from?: string | undefined };

/** An image, audio or video of the message. Other files become a link, with a preview of text files. */
export function File({ part: { mediaType, url, filename }, from }: FileProps) {
  const name = filename ?? `file.${extensionOf(mediaType)}`;
  const [broken, setBroken] = useState<string>();
  if (mediaType.startsWith("image/") && broken !== url) {
    return (
      <Picture
        className="max-h-96 max-w-full rounded-xl border in-[[aria-label=You]]:max-h-56"
        url={url}
        alt={filename ?? from ?? "Image from the conversation"}
        onBroken={() => setBroken(url)}
      />
    );
  }
  if (isOwn(url) && mediaType.startsWith("audio/")) return <audio src={url} controls aria-label={name} className="max-w-full" />;
  if (isOwn(url) && mediaType.startsWith("video/")) {
    return <video src={url} controls aria-label={name} className="max-h-96 max-w-full self-start rounded-xl" />;
  }
  const size = bytesIn(url);
  return (
    <div className="flex max-w-full min-w-0 flex-col items-start gap-1.5 in-[[aria-label=You]]:items-end">
      <Elsewhere className={FILE} url={url} download={name}>
        <FileText className="size-4 shrink-0" aria-hidden />
        <span dir="auto" className="min-w-0 truncate">
          {name}
        </span>
        {size !== undefined && <span className="shrink-0 text-xs text-muted-foreground">{shownSize(size)}</span>}
        <Download className="size-4 shrink-0 text-muted-foreground" aria-hidden />
      </Elsewhere>
      {isText(mediaType) && isOwn(url) && <Preview url={url} />}
    </div>
  );
}

export const FILE =
  "inline-flex max-w-full items-center gap-2 rounded-xl border bg-card px-3 py-2 text-sm transition-colors hover:bg-accent";

/** Maximum characters in a preview. */
const SHOWN = 5000;

/** The beginning of a text file, read when the preview opens. */
function Preview({ url }: { url: string }) {
  const [open, setOpen] = useState(false);
  const [text, setText] = useState<string>();
  useEffect(() => {
    if (!open || text !== undefined) return;
    void textOf(url)
      .catch(() => "The file can't be read.")
      .then((read) => setText(read.length > SHOWN ? `${read.slice(0, SHOWN)}…` : read));
  }, [open, text, url]);
  return (
    <Collapsible
      open={open}
      onOpenChange={setOpen}
      className="max-w-full min-w-0"
      summaryClassName="text-xs text-muted-foreground hover:text-foreground"
      summary="Preview"
    >
      {text !== undefined && <Json value={text} label="beginning" />}
    </Collapsible>
  );
}

/** Decodes a `data:` URL, because the content security policy forbids to fetch it. */
async function textOf(url: string): Promise<string> {
  if (!url.startsWith("data:")) {
    const response = await fetch(url);
    return response.ok ? response.text() : Promise.reject(new Error(String(response.status)));
  }
  const [head, data] = splitDataUrl(url);
  if (!head.endsWith(";base64")) return decodeURIComponent(data);
  return new TextDecoder().decode(Uint8Array.from(atob(data), (byte) => byte.charCodeAt(0)));
}

const EXTENSIONS: Record<string, string> = { plain: "txt", markdown: "md", javascript: "js", "x-python": "py", mpeg: "mp3" };

/** The short name of a media type: `text/csv; charset=utf-8` becomes `csv`. */
function extensionOf(mediaType: string): string {
  const subtype = mediaType.split(";")[0]?.split("/")[1]?.trim() ?? "";
  const short = EXTENSIONS[subtype] ?? subtype.split("+").at(-1) ?? "";
  return /^[a-z0-9]{1,5}$/.test(short) ? short : "bin";
}

function isText(mediaType: string): boolean {
  return /^text\/|^application\/(json|xml|yaml)\b/.test(mediaType) && !mediaType.startsWith("text/html");
}
