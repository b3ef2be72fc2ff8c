import { useEffect } from "react";
import { later } from "../ui/later";
import { loadScriptsFor } from "./late-scripts";
import { PlainText } from "./PlainText";

type MarkdownProps = { text: string; live?: boolean };

const Rendered = later<MarkdownProps>(
  () => import("./RenderedMarkdown").then(({ RenderedMarkdown }) => ({ default: RenderedMarkdown })),
  (_, { text }) => <PlainText text={text} />,
  ({ text }) => <PlainText text={text} />,
);

/** Markdown. Its script is a third of the page, so it loads later. Until then the plain text is shown. */
export function Markdown(props: MarkdownProps) {
  useEffect(() => loadScriptsFor(props.text), [props.text]);
  return <Rendered {...props} />;
}

/** Load the script before a text is shown. The promise is never rejected. */
Markdown.preload = () => Rendered.preload();
