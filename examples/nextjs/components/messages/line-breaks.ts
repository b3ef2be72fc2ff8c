import type { Nodes, PhrasingContent, Root } from "mdast";

/**
 * Keeps the lines of a paragraph. Models write poems, addresses and tables without a separator so, and wrap no lines:
 * Markdown would make one line of them.
 */
export function lineBreaks() {
  return (tree: Root): void => breakLines(tree);
}

function breakLines(parent: Nodes): void {
  if (!("children" in parent)) return;
  const children: Nodes[] = parent.children;
  const broken = children.flatMap((child): Nodes[] => {
    breakLines(child);
    return child.type === "text" ? linesOf(child.value) : [child];
  });
  children.splice(0, children.length, ...broken);
}

function linesOf(text: string): PhrasingContent[] {
  return text.split("\n").flatMap((line, index): PhrasingContent[] => {
    const value: PhrasingContent = { type: "text", value: line };
    return index === 0 ? [value] : [{ type: "break" }, value];
  });
}
