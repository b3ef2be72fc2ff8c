import "katex/dist/katex.min.css";
import { createMathPlugin } from "@streamdown/math";
import { memo, type ReactNode, useEffect, useRef } from "react";
import { type Components, defaultRehypePlugins, Streamdown } from "streamdown";
import { Elsewhere, Picture } from "./Elsewhere";
import { code } from "./highlighter";

const COMPONENTS: Components = {
  a: ({ href, children }) => <Elsewhere url={href}>{children}</Elsewhere>,
  img: ({ src, alt }) => <Picture url={typeof src === "string" ? src : undefined} alt={alt} />,
  li: ({ className, children }) => <Item task={className?.includes("task-list-item") ?? false}>{children}</Item>,
};

const PLUGINS = { code, math: createMathPlugin() };

/** Streamdown's own but the one that makes HTML of what a model writes as such: that stays text. */
const { raw: _, ...SAFE } = defaultRehypePlugins;
const REHYPE = Object.values(SAFE);

const CONTROLS = { code: { copy: true, download: false }, table: false, mermaid: false } as const;

/** Markdown, also unfinished, without raw HTML, with safe link schemes only, and without images that are elsewhere. */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => (box.current ? keepInTabOrder(box.current) : undefined), []);
  return (
    <div ref={box} className="wrap-anywhere">
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
    </div>
  );
});

/** The words of a task are the name of its box. */
function Item({ task, children }: { task: boolean; children: ReactNode }) {
  if (!task) return <li className="py-0.5 [&>p]:inline">{children}</li>;
  return (
    <li className="list-none py-0.5">
      <label>{children}</label>
    </li>
  );
}

/** What scrolls, but no keyboard reaches. */
const SCROLLED = "[data-streamdown=code-block-body], [data-streamdown=table-wrapper] > div, .katex-display";

/** Some of it is drawn later than the words around it. */
function keepInTabOrder(box: HTMLElement): () => void {
  const add = () => {
    for (const one of box.querySelectorAll<HTMLElement>(SCROLLED)) one.tabIndex = 0;
  };
  const observer = new MutationObserver(add);
  observer.observe(box, { subtree: true, childList: true });
  add();
  return () => observer.disconnect();
}
