import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Elsewhere, Picture } from "./Elsewhere";

const COMPONENTS: Components = {
  a: ({ href, children }) => <Elsewhere url={href}>{children}</Elsewhere>,
  img: ({ src, alt }) => <Picture url={typeof src === "string" ? src : undefined} alt={alt} />,
};

/** Markdown without raw HTML, with safe link schemes only, and without images that are elsewhere. */
export function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={[remarkGfm]} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
}
