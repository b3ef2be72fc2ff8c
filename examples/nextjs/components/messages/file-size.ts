const UNITS = ["B", "kB", "MB"];

/** Format a size: `1234567` becomes `1.2 MB`. */
export function shownSize(bytes: number): string {
  let size = bytes;
  let unit = 0;
  for (; size >= 1000 && unit < UNITS.length - 1; unit++) size /= 1000;
  return `${size < 10 && unit > 0 ? size.toFixed(1) : Math.round(size)} ${UNITS[unit]}`;
}

/** The size in bytes of a `data:` URL's file. Other URLs have no known size. */
export function bytesIn(url: string): number | undefined {
  if (!url.startsWith("data:")) return undefined;
  const [head, data] = splitDataUrl(url);
  return head.endsWith(";base64") ? Math.floor((data.replace(/=+$/, "").length * 3) / 4) : decodeURIComponent(data).length;
}

export function splitDataUrl(url: string): [string, string] {
  const comma = url.indexOf(",");
  return [url.slice(0, comma), url.slice(comma + 1)];
}
