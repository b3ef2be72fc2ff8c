import type { Nodes, PhrasingContent, Root, TableCell, TableRow } from "mdast";

/** The syntax tree of a Markdown text. */
type Parse = (text: string) => Root;

/**
 * Keep all cells of a row that has more cells than the table has columns. Markdown would drop the last ones. Models do
 * not escape `a | b` in code and `|x|` in formulas, so such cells are joined. Further cells go into the last cell.
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

function mend(row: TableRow, columns: number, source: string, parse: Parse): void {
  if (row.children.length > columns) row.children = joined(row.children, columns, source, parse);
  const last = row.children[columns - 1];
  if (last === undefined) return;
  for (const { children } of row.children.splice(columns)) last.children.push({ type: "text", value: " | " }, ...children);
}

/** While a row has too many cells, join the cells between the start and the end of code or a formula. */
function joined(cells: TableCell[], columns: number, source: string, parse: Parse): TableCell[] {
  const written = (first: number, last = first) =>
    source.slice(cells[first]?.position?.start.offset, cells[last]?.position?.end.offset);
  const open = cells.flatMap((_, index) => (isOpen(written(index)) ? [index] : [])); // every second one is an end
  const result: TableCell[] = [];
  let next = 0;
  for (let pair = 0; pair + 1 < open.length; pair += 2) {
    const [first = 0, last = 0] = open.slice(pair, pair + 2);
    if (result.length + cells.length - next <= columns) break;
    const children = wordsOf(written(first, last), parse);
    if (children === undefined) continue;
    result.push(...cells.slice(next, first), { type: "tableCell", children });
    next = last + 1;
  }
  return [...result, ...cells.slice(next)];
}

/** The content of a cell. `undefined` if it is more than a paragraph. */
function wordsOf(written: string, parse: Parse): PhrasingContent[] | undefined {
  const text = written.replace(/^\s*\||\|\s*$/g, "").replaceAll("\\|", "|");
  const [paragraph, ...others] = parse(text.trim()).children;
  return paragraph?.type === "paragraph" && others.length === 0 ? paragraph.children : undefined;
}

function isOpen(text: string): boolean {
  return (text.match(/`+|\$\$/g) ?? []).length % 2 === 1;
}
