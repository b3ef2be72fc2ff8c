/** Plain text: the fallback for Markdown that cannot be rendered. */
export function PlainText({ text }: { text: string }) {
  return (
    <p dir="auto" className="whitespace-pre-wrap wrap-anywhere" data-plain>
      {text}
    </p>
  );
}
