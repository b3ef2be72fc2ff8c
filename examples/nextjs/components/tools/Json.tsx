import { type ReactNode, useEffect, useRef } from "react";
import { CopyText } from "../messages/Actions";
import { Coloured, JsonTree } from "./JsonTree";

type JsonProps = { value: unknown; label: string; live?: boolean };

/** A value as JSON: on one line if it is short. While it is live its end is in view, then its beginning. */
export function Json({ value, label, live = false }: JsonProps) {
  const text = typeof value === "string" ? value : printed(value);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = live ? box.current.scrollHeight : 0;
  }, [text, live]);
  return (
    <figure data-json={label} className="relative min-w-0">
      <Caption label={label} text={text} />
      <pre
        ref={box}
        data-live={live || undefined}
        tabIndex={0}
        dir={typeof value === "string" ? "auto" : "ltr"}
        className="max-h-64 overflow-auto data-live:max-h-28 rounded-lg bg-muted px-3 py-2 font-mono text-xs leading-relaxed whitespace-pre-wrap wrap-anywhere"
      >
        {drawn(value, text, live)}
      </pre>
    </figure>
  );
}

/** The name above a value, with a button that copies the value. */
export function Caption({ label, text }: { label: string; text: string }) {
  return (
    <figcaption className="mb-1 flex items-center justify-between text-xs text-muted-foreground">
      <span className="first-letter:uppercase">{label}</span>
      <span className="copies-json -my-2 -me-1.5 pointer-coarse:-me-3.5">
        <CopyText text={text} />
      </span>
    </figcaption>
  );
}

/** Text as text. Arguments that are still coming are not folded: each piece would open them again. */
function drawn(value: unknown, text: string, live: boolean): ReactNode {
  if (typeof value === "string") return text;
  return live || !text.includes("\n") ? <Coloured json={text} /> : <JsonTree value={value} />;
}

export function printed(value: unknown): string {
  const lines = JSON.stringify(value, null, 2);
  const line = lines.replace(/\n\s*/g, " ");
  return line.length <= 72 ? line : lines;
}
