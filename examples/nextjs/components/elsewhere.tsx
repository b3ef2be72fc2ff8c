import { ExternalLink } from "lucide-react";

/** A link to a file that is not in this app: nothing of it is fetched before the click, and it is told nothing of this page. */
export function Elsewhere({ url, name }: { url: string; name: string }) {
  const at = urlOf(url);
  if (at === undefined) return <span>{name}</span>;
  return (
    <a
      href={at.href}
      target="_blank"
      rel="noopener noreferrer"
      className="inline-flex max-w-full items-center gap-1.5 text-sm text-primary underline"
    >
      <ExternalLink className="size-3.5 shrink-0" aria-hidden />
      <span className="wrap-anywhere">{[`Show file from ${at.host}`, name].filter(Boolean).join(": ")}</span>
    </a>
  );
}

/** The URL as the browser reads it, if it is one to open: not `javascript:` or `file:`. `//host/path` is one. */
function urlOf(url: string): URL | undefined {
  const base = "https://here.invalid";
  const at = URL.canParse(url, base) ? new URL(url, base) : undefined;
  return at && ["http:", "https:"].includes(at.protocol) ? at : undefined;
}
