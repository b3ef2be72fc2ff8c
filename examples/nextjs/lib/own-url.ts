/** Stands for this app. The server makes pages too, and does not know by which name the browser found it. */
const HERE = "http://here.invalid";

/** Tells whether this app or the message itself has what the URL names, so that nobody else hears of a request. */
export function isOwn(url: string): boolean {
  if (URL.canParse(url)) return ["blob:", "data:"].includes(new URL(url).protocol);
  return URL.canParse(url, HERE) && new URL(url, HERE).origin === HERE;
}
