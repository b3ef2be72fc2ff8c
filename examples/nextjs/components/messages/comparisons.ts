import type { ListItem, Nodes, Paragraph, Root } from "mdast";

/** A comparison with a number: `> 25`, `>= $5`. */
const COMPARISON = /^>=?\s*\$?\d/;

/** A second line with the mark of a quotation. */
const MARKED = /\n[ \t]*>/;

/** Makes text of a number above another at the beginning of an item, `- > 25`: Markdown takes it for a quotation. */
export function comparisons() {
  return (tree: Root, file: unknown): void => visit(tree, String(file));
}

function visit(node: Nodes, source: string): void {
  if (node.type === "listItem") asText(node, source);
  if ("children" in node) for (const child of node.children) visit(child, source);
}

function asText(item: ListItem, source: string): void {
  const [quote, ...others] = item.children;
  if (quote?.type !== "blockquote") return;
  const start = quote.position?.start.offset;
  const end = quote.position?.end.offset;
  const written = source.slice(start, end);
  const paragraph = paragraphIn(quote);
  if (!COMPARISON.test(written) || (paragraph ? MARKED : /\n/).test(written)) return;
  const value = source.slice(start, paragraph ? paragraph.position?.start.offset : end);
  item.children = [{ type: "paragraph", children: [{ type: "text", value }, ...(paragraph?.children ?? [])] }, ...others];
}

/** The one paragraph of a quotation, also in a list: `> 25. That is much`. */
function paragraphIn(node: Nodes): Paragraph | undefined {
  if (node.type === "paragraph") return node;
  const [child, ...others] = "children" in node ? node.children : [];
  return child && others.length === 0 ? paragraphIn(child) : undefined;
}
