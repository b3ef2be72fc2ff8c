import { Copy } from "lucide-react";
import { useMemo } from "react";
import { JsonTree } from "../components/tools/JsonTree";
import { IconButton } from "../components/ui/icon-button";
import { inBytes } from "./entries";
import { allMedia, mediaOf, Thumbnail } from "./Media";

/** Maximum number of characters of a text in JSON. */
const LONGEST = 4000;

/** Number of characters of a file's data that are shown. */
const DATA = 24;

/** Number of lines of JSON above which inner values are folded at first. */
const MANY_LINES = 200;

/** A text, or a value as JSON that folds, with its pictures above. The button copies the whole value. */
export function Shown({ value, label, openTo = 1 }: { value: unknown; label: string; openTo?: number }) {
  const drawn = useMemo(() => (typeof value === "string" ? value : JSON.parse(JSON.stringify(value, shortened))), [value]);
  const media = useMemo(() => allMedia(value), [value]);
  const copy = () => navigator.clipboard?.writeText(typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return (
    <div className="relative min-w-0">
      {media.length > 0 && (
        <div className="mb-2 flex flex-wrap gap-2 pe-10">
          {media.map((each, index) => (
            <Thumbnail key={index} media={each} />
          ))}
        </div>
      )}
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="overflow-auto rounded-lg border bg-muted p-3 pe-10 font-mono text-xs leading-relaxed whitespace-pre-wrap wrap-anywhere"
      >
        {typeof drawn === "string" ? drawn : <JsonTree value={drawn} manyLines={MANY_LINES} openTo={openTo} />}
      </pre>
      <span className="absolute end-1 top-1">
        <IconButton label={`Copy ${label}`} size="small icon" onClick={() => void copy()}>
          <Copy />
        </IconButton>
      </span>
    </div>
  );
}

/** Return a long text or the data of a file without its end. */
function shortened(_key: string, value: unknown): unknown {
  const media = mediaOf(value);
  if (media && media.url.length > DATA * 4) {
    const { data, url, ...rest } = value as Record<string, unknown>;
    const told = (text: string) => `${text.slice(0, DATA)}… (${inBytes(media.bytes)})`;
    return { ...rest, ...(typeof data === "string" ? { data: told(data) } : { url: told(String(url)) }) };
  }
  if (typeof value !== "string" || value.length <= LONGEST) return value;
  return `${value.slice(0, LONGEST)}… and ${value.length - LONGEST} characters more`;
}
