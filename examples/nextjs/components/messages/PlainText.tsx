/** Text as it was written: what is left of Markdown that cannot be drawn. */
export function PlainText({ text }: { text: string }) {
  return (
    <p dir="auto" className="whitespace-pre-wrap wrap-anywhere" data-plain>
      {text}
    </p>
  );
}
