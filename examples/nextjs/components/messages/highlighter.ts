import type { ElementContent, RootContent } from "hast";
import type { createLowlight } from "lowlight";
import type { CodeHighlighterPlugin } from "streamdown";
import { languagesScript } from "./late-scripts";

type Token = { content: string; color?: string };
type Lowlight = ReturnType<typeof createLowlight>;

let lowlight: Lowlight | undefined;

/**
 * A small highlighter: Streamdown's own has megabytes of languages. The colors are in markdown.css, by scopes of
 * highlight.js. The languages load with the first code block, which has one color until then.
 */
export const code: CodeHighlighterPlugin = {
  name: "shiki", // Streamdown requires this name for a highlighter
  type: "code-highlighter",
  getSupportedLanguages: () => [],
  supportsLanguage: () => true,
  getThemes: () => ["page", "page"],
  highlight: ({ code, language }, onColoured) => {
    if (lowlight) return { tokens: linesOf(coloured(lowlight, code, language)) };
    void languagesScript.load().then((loaded) => {
      lowlight = loaded?.lowlight;
      if (lowlight) onColoured?.({ tokens: linesOf(coloured(lowlight, code, language)) });
    });
    return null;
  },
};

/** Code in one color, for unknown languages and if highlighting fails. Streamdown calls this for every language. */
function coloured(lowlight: Lowlight, code: string, language: string): Token[] {
  if (!lowlight.registered(language)) return [{ content: code }];
  try {
    return lowlight.highlight(language, code).children.flatMap((child) => tokensOf(child));
  } catch (error) {
    console.error(`Code in ${language} is shown without colours:`, error);
    return [{ content: code }];
  }
}

/** The color of the innermost scope that has one. */
function tokensOf(node: RootContent | ElementContent, color?: string): Token[] {
  if (node.type === "text") return [color === undefined ? { content: node.value } : { content: node.value, color }];
  if (node.type !== "element") return [];
  const names = node.properties["className"];
  const scope = Array.isArray(names) ? String(names[0]).replace("hljs-", "") : undefined;
  return node.children.flatMap((child) => tokensOf(child, scope ? `var(--code-${scope}, ${color ?? "inherit"})` : color));
}

function linesOf(tokens: Token[]): Token[][] {
  const lines: Token[][] = [[]];
  for (const { content, ...rest } of tokens) {
    for (const [index, piece] of content.split("\n").entries()) {
      if (index > 0) lines.push([]);
      if (piece !== "") lines.at(-1)?.push({ content: piece, ...rest });
    }
  }
  return lines;
}
