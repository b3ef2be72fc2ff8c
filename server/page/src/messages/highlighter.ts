import type { ElementContent, RootContent } from "hast";
import bash from "highlight.js/lib/languages/bash";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import go from "highlight.js/lib/languages/go";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { CodeHighlighterPlugin } from "streamdown";

/** The languages that are coloured, and their other names: `py`, `tsx`, `html`. */
const lowlight = createLowlight({
  bash, css, diff, go, java, javascript, json, python, rust, sql, typescript, xml, yaml,
});

type Token = { content: string; color?: string };

/**
 * Streamdown's own highlighter has every language there is, in megabytes. The colours are those of markdown.css, by the
 * scopes of highlight.js.
 */
export const code: CodeHighlighterPlugin = {
  name: "shiki", // so Streamdown calls what colours code
  type: "code-highlighter",
  getSupportedLanguages: () => lowlight.listLanguages(),
  supportsLanguage: (language) => lowlight.registered(language),
  getThemes: () => ["page", "page"],
  highlight: ({ code, language }) => ({ tokens: linesOf(coloured(code, language)) }),
};

/** Code in one colour where its language is unknown, or where colouring it fails: Streamdown asks for any language. */
function coloured(code: string, language: string): Token[] {
  if (!lowlight.registered(language)) return [{ content: code }];
  try {
    return lowlight.highlight(language, code).children.flatMap((child) => tokensOf(child));
  } catch (error) {
    console.error(`Code in ${language} is shown without colours:`, error);
    return [{ content: code }];
  }
}

/** The innermost scope that has a colour gives it. */
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
