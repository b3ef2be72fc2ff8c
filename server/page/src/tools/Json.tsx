import { type ReactNode, useEffect, useRef } from "react";

type JsonProps = { value: unknown; label: string; live?: boolean };

/** A value as JSON: on one line if it is short. While it is live its end is in view, then its beginning. */
export function Json({ value, label, live = false }: JsonProps) {
  const text = typeof value === "string" ? value : printed(value);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = live ? box.current.scrollHeight : 0;
  }, [text, live]);
  return (
    <figure data-json={label} className="min-w-0">
      <figcaption className="mb-1 text-xs text-muted-foreground">{label}</figcaption>
      <pre
        ref={box}
        tabIndex={0}
        dir={typeof value === "string" ? "auto" : "ltr"}
        className="max-h-64 overflow-auto rounded-lg bg-muted px-3 py-2 font-mono text-xs leading-relaxed whitespace-pre-wrap wrap-anywhere"
      >
        {typeof value === "string" ? text : <Coloured json={text} />}
      </pre>
    </figure>
  );
}

const TOKENS = /("(?:[^"\\]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|true|false|null/gi;

/** Keys, texts and other values in the colours that code has. */
function Coloured({ json }: { json: string }) {
  const pieces: ReactNode[] = [];
  let end = 0;
  for (const match of json.matchAll(TOKENS)) {
    const [token, text, colon = ""] = match;
    pieces.push(json.slice(end, match.index));
    const colour = text === undefined ? "text-(--code-literal)" : colon ? "text-(--code-attr)" : "text-(--code-string)";
    pieces.push(
      <span key={match.index} className={colour}>
        {text ?? token}
      </span>,
      colon,
    );
    end = match.index + token.length;
  }
  return [...pieces, json.slice(end)];
}

function printed(value: unknown): string {
  const lines = JSON.stringify(value, null, 2);
  const line = lines.replace(/\n\s*/g, " ");
  return line.length <= 72 ? line : lines;
}
