import { later } from "../ui/later";
import { PlainText } from "./PlainText";

type MarkdownProps = { text: string; live?: boolean };

const load = () => import("./RenderedMarkdown").then(({ RenderedMarkdown }) => ({ default: RenderedMarkdown }));

/** Markdown. Its script is a third of the page: until it is loaded, the text stands as it was written. */
export const Markdown = later<MarkdownProps>(
  load,
  (_, { text }) => <PlainText text={text} />,
  ({ text }) => <PlainText text={text} />,
);

/** Loads the script before the first text needs it. A failure is reported with that text. */
export function preloadMarkdown(): void {
  load().catch(() => undefined);
}
