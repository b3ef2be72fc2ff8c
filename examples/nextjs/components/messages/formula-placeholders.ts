import type { Element, ElementContent, Root } from "hast";

/** The first character of a formula whose end is still missing. No text has this character. */
export const UNFINISHED = "\uE0F0";

/** Plugin that replaces each formula by a placeholder. */
export function allFormulas() {
  return (tree: Root): void => replaceFormulas(tree, () => true);
}

/** Plugin that replaces the formulas whose end is still missing by a placeholder. */
export function unfinishedFormulas() {
  return (tree: Root): void => replaceFormulas(tree, (source) => source.startsWith(UNFINISHED));
}

function replaceFormulas(parent: Root | Element, replaced: (source: string) => boolean): void {
  for (const [index, child] of parent.children.entries()) {
    if (child.type !== "element") continue;
    const source = sourceOf(child);
    if (source === undefined) replaceFormulas(child, replaced);
    else if (replaced(source)) parent.children[index] = placeholder(source, child.tagName === "pre");
  }
}

/** The source of a formula: of a `code` element in a line, or of a `pre` element on its own lines. */
function sourceOf({ tagName, properties, children }: Element): string | undefined {
  const [first] = children;
  if (tagName === "pre") return first?.type === "element" && first.tagName === "code" ? sourceOf(first) : undefined;
  const classes = properties["className"];
  if (tagName !== "code" || !Array.isArray(classes) || !classes.includes("language-math")) return undefined;
  return first?.type === "text" ? first.value : "";
}

/** The rows of a formula, which determine its height. */
const ROWS = /\\\\|\\cr\b/g;

/** A box of about the size of the formula. */
function placeholder(source: string, display: boolean): ElementContent {
  const rows = display ? (source.match(ROWS)?.length ?? 0) + (source.includes("\\frac") ? 1.6 : 1) : 1;
  const letters = Math.min(Math.max(source.replace(/\\[a-z]+|[\s{}^_]/gi, "").length, 2), 30);
  return {
    type: "element",
    tagName: display ? "div" : "span",
    properties: { role: "img", ariaLabel: "Formula", dataFormula: display ? "display" : "inline", style: `--rows: ${rows}; --letters: ${letters}` },
    children: [],
  };
}
