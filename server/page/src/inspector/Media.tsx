import { inBytes } from "./entries";

/** A file inside JSON. `url`: its data as a `data:` address. */
export type Media = { type: string; url: string; bytes: number };

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+);base64,/;

/** Return the file in a value: a part of genai, or a chunk or part of the AI SDK. `undefined` for other values. */
export function mediaOf(value: unknown): Media | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const { mimeType, data, bytes, mediaType, url } = value as Record<string, unknown>;
  if (typeof mimeType === "string" && typeof data === "string") {
    const standard = data.replaceAll("-", "+").replaceAll("_", "/");
    return { type: mimeType, url: data && `data:${mimeType};base64,${standard}`, bytes: typeof bytes === "number" ? bytes : sizeOf(data) };
  }
  if (typeof mediaType !== "string" || typeof url !== "string" || !DATA_URL.test(url)) return undefined;
  return { type: mediaType, url, bytes: sizeOf(url.slice(url.indexOf(",") + 1)) };
}

/** Return all files inside a value. */
export function allMedia(value: unknown): Media[] {
  if (typeof value !== "object" || value === null) return [];
  const own = mediaOf(value);
  return own ? [own] : Object.values(value).flatMap(allMedia);
}

function sizeOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, "").length * 3) / 4);
}

/** Preview of a picture with its type and size. Other files have no preview. */
export function Thumbnail({ media: { type, url, bytes } }: { media: Media }) {
  return (
    <figure className="flex w-fit max-w-full flex-col gap-1 rounded-lg border bg-background p-2 text-xs text-muted-foreground" data-media={type}>
      {type.startsWith("image/") && url !== "" && <img src={url} alt={`The ${type} file`} className="max-h-32 max-w-full self-start rounded object-contain" />}
      <figcaption>
        {type}, {inBytes(bytes)}
      </figcaption>
    </figure>
  );
}
