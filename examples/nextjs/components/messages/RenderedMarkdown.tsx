import { Children, type CSSProperties, isValidElement, memo, type ReactNode, useEffect, useMemo, useRef } from "react";
import remarkBreaks from "remark-breaks";
import {
  Block,
  type BlockProps,
  type Components,
  defaultRehypePlugins,
  defaultRemarkPlugins,
  detectTextDirection,
  Streamdown,
} from "streamdown";
import { Boundary } from "../ui/boundary";
import { growingBlocks, wholeBlocks } from "./blocks";
import { useCjk } from "./cjk";
import { Elsewhere, Picture } from "./Elsewhere";
import { comparisons } from "./comparisons";
import { unfinishedFormulas } from "./formula-placeholders";
import { code } from "./highlighter";
import { htmlAsText } from "./html-as-text";
import { jsonAsCode } from "./json-answer";
import { useMath } from "./math";
import { withDollars } from "./math-delimiters";
import { PlainText } from "./PlainText";
import { wholeRows } from "./table-cells";
import { unusedDefinitions } from "./unused-definitions";
import { usePaced } from "./use-paced";

export const COMPONENTS: Components = {
  p: ({ children }) => <p>{children}</p>,
  a: ({ href, children }) => <Elsewhere url={href}>{Children.count(children) > 0 ? children : href}</Elsewhere>,
  img: ({ src, alt }) => <Picture url={typeof src === "string" ? src : undefined} alt={alt} />,
  ol: ({ start, children }) => <Numbered start={start}>{children}</Numbered>,
  li: ({ className, children }) => <Item task={className?.includes("task-list-item") ?? false}>{children}</Item>,
};

type Pluggable = (typeof defaultRemarkPlugins)[string];

/**
 * Streamdown's plugins without the one that renders raw HTML: HTML stays text. A link with an unsafe URL becomes its
 * text, without a note.
 */
const { raw: _, harden, ...SAFE } = defaultRehypePlugins;
const REHYPE = [
  ...Object.values(SAFE),
  withOptions(harden, { linkBlockPolicy: "text-only", imageBlockPolicy: "text-only" }),
  unfinishedFormulas,
];

/**
 * A single tilde is text: `3~5 days or 10~20 km`. Line breaks in a paragraph are kept, because models do not wrap lines
 * but write poems and addresses.
 */
const { gfm, ...OTHERS } = defaultRemarkPlugins;
const REMARK = [
  withOptions(gfm, { singleTilde: false }),
  ...Object.values(OTHERS),
  ...[wholeRows, comparisons, htmlAsText, remarkBreaks, unusedDefinitions],
];

/** A plugin of Streamdown with more options. */
function withOptions(plugin: Pluggable | undefined, options: object): Pluggable {
  const [attach, given] = plugin as [() => void, object];
  return [attach, { ...given, ...options }] as Pluggable;
}

const CONTROLS = { code: { copy: true, download: false }, table: false, mermaid: false } as const;

/** The plugins that change the parsed text, and the components that render it. */
export type Extension = { remark: Pluggable; components: Components };

type RenderedMarkdownProps = { text: string; live?: boolean; extension?: Extension | undefined };

/** Markdown, complete or streaming. It renders no raw HTML, no unsafe links and no images of other servers. */
export function RenderedMarkdown({ text, live = false, extension }: RenderedMarkdownProps) {
  const paced = usePaced(text);
  return <Drawn text={live ? paced : text} live={live} extension={extension} />;
}

const Drawn = memo(function Drawn({ text, live = false, extension }: RenderedMarkdownProps) {
  const box = useRef<HTMLDivElement>(null);
  const markdown = useMemo(() => jsonAsCode(text, live) ?? withDollars(text), [text, live]);
  const math = useMath(markdown, live);
  const remark = useMemo(() => (extension ? [...REMARK, extension.remark] : REMARK), [extension]);
  const cjk = useCjk(markdown);
  const plugins = useMemo(() => ({ code, ...(math && { math }), ...(cjk && { cjk }) }), [math, cjk]);
  useEffect(() => (box.current ? keepInTabOrder(box.current) : undefined), []);
  return (
    <div ref={box} className="wrap-anywhere">
      <Boundary of={text} otherwise={<PlainText text={text} />}>
        <Streamdown
          className="markdown"
          BlockComponent={SafeBlock}
          components={extension?.components ?? COMPONENTS}
          remarkPlugins={remark}
          rehypePlugins={REHYPE}
          plugins={plugins}
          controls={CONTROLS}
          lineNumbers={false}
          isAnimating={live}
          parseIncompleteMarkdown={false} // `growingBlocks` already completes the last block
          parseMarkdownIntoBlocksFn={live ? growingBlocks : wholeBlocks}
        >
          {markdown}
        </Streamdown>
      </Boundary>
    </div>
  );
});

/** URLs, which do not count when the text's direction is detected. */
const URLS = /https?:\/\/\S+/g;

/** One block: a paragraph, a list or a fence. If it cannot be rendered, its plain text is shown. */
function SafeBlock(block: BlockProps) {
  const dir = useMemo(() => detectTextDirection(block.content.replace(URLS, "")), [block.content]);
  return (
    <div dir={dir}>
      <Boundary of={block.content} otherwise={<PlainText text={block.content} />}>
        <Block {...block} />
      </Boundary>
    </div>
  );
}

/** A numbered list whose indent fits its last number. */
function Numbered({ start = 1, children }: { start?: number | undefined; children: ReactNode }) {
  const last = start + Children.toArray(children).filter(isValidElement).length - 1;
  return (
    <ol start={start} className="list-decimal" style={{ "--digits": String(last).length } as CSSProperties}>
      {children}
    </ol>
  );
}

/** A task of a list. Its text labels the checkbox. */
function Item({ task, children }: { task: boolean; children: ReactNode }) {
  if (!task) return <li className="py-0.5">{children}</li>;
  return (
    <li data-task className="py-0.5 [ul>&]:list-none">
      <label>{children}</label>
    </li>
  );
}

/** Selectors of scrolling elements that need a tab stop. */
const SCROLLED = "[data-streamdown=code-block-body], [data-streamdown=table-wrapper] > div, .katex-display";

/** Makes scrolling elements reachable by keyboard, also those that render later. */
function keepInTabOrder(box: HTMLElement): () => void {
  const add = () => {
    for (const one of box.querySelectorAll<HTMLElement>(SCROLLED)) one.tabIndex = 0;
  };
  const observer = new MutationObserver(add);
  observer.observe(box, { subtree: true, childList: true });
  add();
  return () => observer.disconnect();
}
