import "katex/dist/katex.min.css";
import { createMathPlugin } from "@streamdown/math";
import { memo } from "react";
import { type Components, defaultRehypePlugins, Streamdown } from "streamdown";
import { Elsewhere, Picture } from "./Elsewhere";
import { code } from "./highlighter";

const COMPONENTS: Components = {
  a: ({ href, children }) => <Elsewhere url={href}>{children}</Elsewhere>,
  img: ({ src, alt }) => <Picture url={typeof src === "string" ? src : undefined} alt={alt} />,
};

const PLUGINS = { code, math: createMathPlugin() };

/** Streamdown's own but the one that makes HTML of what a model writes as such: that stays text. */
const { raw: _, ...SAFE } = defaultRehypePlugins;
const REHYPE = Object.values(SAFE);

const CONTROLS = { code: { copy: true, download: false }, table: false, mermaid: false } as const;

/** Markdown, also unfinished, without raw HTML, with safe link schemes only, and without images that are elsewhere. */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  return (
    <Streamdown
      className="markdown"
      dir="auto"
      components={COMPONENTS}
      rehypePlugins={REHYPE}
      plugins={PLUGINS}
      controls={CONTROLS}
      lineNumbers={false}
      isAnimating={live}
    >
      {text}
    </Streamdown>
  );
});
