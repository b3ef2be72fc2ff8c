import type { Nodes, Root } from "mdast";

const LINE_BREAK = /^<br\s*\/?>$/i;

/** Nodes that have paragraphs as their children. */
const FLOW = ["root", "blockquote", "listItem", "footnoteDefinition"];

/**
 * Keeps HTML that a model writes as text. Streamdown does that within a paragraph: here HTML that stands alone becomes a
 * paragraph, and a `<br>`, which models write in tables, breaks the line.
 */
export function htmlAsText() {
  return (tree: Root): void => replaceHtml(tree);
}

function replaceHtml(parent: Nodes): void {
  if (!("children" in parent)) return;
  const children: Nodes[] = parent.children;
  for (const [index, child] of children.entries()) {
    if (child.type !== "html") replaceHtml(child);
    else if (LINE_BREAK.test(child.value)) children[index] = { type: "break" };
    else if (FLOW.includes(parent.type)) children[index] = { type: "paragraph", children: [{ type: "text", value: child.value }] };
  }
}
