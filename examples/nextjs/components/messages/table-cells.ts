import type { Nodes, PhrasingContent, Root, TableCell, TableRow } from "mdast";

/** Of a Markdown text, its tree. */
type Parse = (text: string) => Root;

/**
 * Keeps the cells of a row that has more of them than its table has columns: Markdown drops those at its end. Models
 * write `a | b` in code and `|x|` in formulas without an escape, so these are in one cell. If there are still too many,
 * the last cell has the others.
 */
export function wholeRows(this: { parse: (text: string) => unknown }) {
  const parse: Parse = (text) => this.parse(text) as Root;
  return (tree: Root, file: unknown): void => visit(tree, String(file), parse);
}

function visit(node: Nodes, source: string, parse: Parse): void {
  if (node.type === "table") {
    const columns = node.children[0]?.children.length ?? 0;
    for (const row of node.children) mend(row, columns, source, parse);
  } else if ("children" in node) {
    for (const child of node.children) visit(child, source, parse);
  }
}

function mend({ children: cells }: TableRow, columns: number, source: string, parse: Parse): void {
  for (let index = 0; index < cells.length && cells.length > columns; index++) join(cells, index, source, parse);
  const last = cells[columns - 1];
  if (last === undefined) return;
  for (const { children } of cells.splice(columns)) last.children.push({ type: "text", value: " | " }, ...children);
}

/** Joins a cell in which code or a formula begins with those up to its end. */
function join(cells: TableCell[], index: number, source: string, parse: Parse): void {
  const written = (end: number) => source.slice(cells[index]?.position?.start.offset, cells[end]?.position?.end.offset);
  if (!isOpen(written(index))) return;
  const end = cells.findIndex((_, other) => other > index && !isOpen(written(other)));
  const text = written(end).replace(/^\s*\||\|\s*$/g, "").replaceAll("\\|", "|");
  const [paragraph, ...others] = parse(text.trim()).children;
  if (end < 0 || paragraph?.type !== "paragraph" || others.length > 0) return;
  cells.splice(index, end - index + 1, { type: "tableCell", children: paragraph.children as PhrasingContent[] });
}

function isOpen(text: string): boolean {
  return (text.match(/`+|\$\$/g) ?? []).length % 2 === 1;
}
