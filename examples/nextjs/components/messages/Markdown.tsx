import { later } from "../ui/later";
import { PlainText } from "./PlainText";

type MarkdownProps = { text: string; live?: boolean };

/** Markdown. Its script is a third of the page: until it is loaded, the text stands as it was written. */
export const Markdown = later<MarkdownProps>(
  () => import("./RenderedMarkdown").then(({ RenderedMarkdown }) => ({ default: RenderedMarkdown })),
  (_, { text }) => <PlainText text={text} />,
  ({ text }) => <PlainText text={text} />,
);
