import { Block, type BlockProps, type Components, Streamdown } from "streamdown";
import { code } from "@/lib/highlighter";
import { isOwn } from "@/lib/own-url";
import { Boundary, PlainText } from "./boundary";
import { Elsewhere } from "./elsewhere";

/** An image elsewhere is a link, also one that HTML names: `<source>` would load it in place of the `<img>`. */
const COMPONENTS: Components = {
  img: ({ src, alt = "" }) => {
    if (typeof src !== "string") return alt;
    return isOwn(src) ? <img src={src} alt={alt} className="max-w-full rounded-lg" /> : <Elsewhere url={src} name={alt} />;
  },
  source: () => null,
};

/** While it is written, a link shows its words alone until its URL is complete. */
const UNFINISHED = { linkMode: "text-only" } as const;

/** Markdown that may still be written. HTML in it is cleaned, and a link to elsewhere asks before it opens. */
export function Markdown({ text, live }: { text: string; live: boolean }) {
  if (text === "") return null;
  return (
    <Boundary of={text} otherwise={<PlainText text={text} />}>
      <Streamdown
        BlockComponent={SafeBlock}
        components={COMPONENTS}
        plugins={{ code }}
        isAnimating={live}
        parseIncompleteMarkdown={live}
        remend={UNFINISHED}
        className="wrap-anywhere"
      >
        {text}
      </Streamdown>
    </Boundary>
  );
}

/** A paragraph, a list or a fence. If drawing it fails, it is shown as it was written, and the others are drawn. */
function SafeBlock(block: BlockProps) {
  return (
    <Boundary of={block.content} otherwise={<PlainText text={block.content} />}>
      <Block {...block} />
    </Boundary>
  );
}
