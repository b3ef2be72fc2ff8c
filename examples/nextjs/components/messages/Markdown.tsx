import { later } from "../ui/later";
import { PlainText } from "./PlainText";

type MarkdownProps = { text: string; live?: boolean };

/** Markdown. Its script is a third of the page, so it loads later. Until then the plain text is shown. */
export const Markdown = later<MarkdownProps>(
  () => import("./RenderedMarkdown").then(({ RenderedMarkdown }) => ({ default: RenderedMarkdown })),
  (_, { text }) => <PlainText text={text} />,
  ({ text }) => <PlainText text={text} />,
);
