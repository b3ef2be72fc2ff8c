import type { Nodes, Root } from "mdast";

const LINE_BREAK = /^<br\s*\/?>$/i;

/** Nodes whose children are blocks. */
const FLOW = ["root", "blockquote", "listItem", "footnoteDefinition"];

/**
 * Show raw HTML as text. Streamdown does so inside a paragraph. This plugin turns an HTML block into a paragraph, and a
 * `<br>`, which models write in tables, into a line break.
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
