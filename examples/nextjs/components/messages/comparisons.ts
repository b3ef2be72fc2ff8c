import type { ListItem, Nodes, Paragraph, Root } from "mdast";

/** A comparison with a number: `> 25`, `>= $5`. */
const COMPARISON = /^>=?\s*\$?\d/;

/** A second line that begins with `>`. */
const MARKED = /\n[ \t]*>/;

/** Keep a comparison at the start of a list item as text: Markdown parses `- > 25` as a quotation. */
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

/** The only paragraph of a quotation, also inside a list: `> 25. That is much` contains a list item. */
function paragraphIn(node: Nodes): Paragraph | undefined {
  if (node.type === "paragraph") return node;
  const [child, ...others] = "children" in node ? node.children : [];
  return child && others.length === 0 ? paragraphIn(child) : undefined;
}
