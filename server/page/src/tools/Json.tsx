import { useEffect, useRef } from "react";

type JsonProps = { value: unknown; label: string; live?: boolean };

/** A value as JSON: on one line if it is short. While it is live its end is in view, then its beginning. */
export function Json({ value, label, live = false }: JsonProps) {
  const text = typeof value === "string" ? value : printed(value);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    if (box.current) box.current.scrollTop = live ? box.current.scrollHeight : 0;
  }, [text, live]);
  return (
    <figure className="json" data-json={label}>
      <figcaption>{label}</figcaption>
      <pre ref={box} tabIndex={0}>
        {text}
      </pre>
    </figure>
  );
}

function printed(value: unknown): string {
  const lines = JSON.stringify(value, null, 2);
  const line = lines.replace(/\n\s*/g, " ");
  return line.length <= 72 ? line : lines;
}
