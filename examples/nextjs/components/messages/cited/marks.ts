import type { Link, Nodes, PhrasingContent, Root } from "mdast";
import type { Citation } from "./citations";

/** `CitedText` renders these links. */
const LINK = "#citation-";

/** Characters around a citation's index. They are from Unicode's private use area, so texts do not contain them. */
const [OPEN, CLOSE] = ["\uE0C1", "\uE0C2"];
const MARK = new RegExp(`${OPEN}(\\d+)${CLOSE}`, "g");

/** Markdown syntax at the end of a line, such as a fence or a table row, whose meaning a mark would change. */
const SYNTAX = /[\s`~|$#>=*_-]/;

/**
 * The text from an index on, with a mark behind each cited range. Markdown parsers keep the marks in place.
 */
export function withMarks(text: string, citations: Citation[], from: number): string {
  if (text.includes(OPEN) || text.includes(CLOSE)) return text.slice(from);
  const marks = citations
    .map(({ startIndex = 0, endIndex = text.length }, index) => ({ index, at: endOf(text, startIndex, endIndex) }))
    .filter((mark): mark is { index: number; at: number } => mark.at !== undefined && mark.at > from)
    .sort((one, other) => one.at - other.at || one.index - other.index);
  let before = from;
  const pieces = marks.map(({ index, at }) => {
    const piece = `${text.slice(before, at)}${OPEN}${index}${CLOSE}`;
    before = at;
    return piece;
  });
  return pieces.join("") + text.slice(before);
}

function endOf(text: string, start: number, end: number): number | undefined {
  if (!(start >= 0 && start < end && end <= text.length)) return undefined;
  let at = end;
  while (at > start && SYNTAX.test(text.charAt(at - 1))) at--;
  return at > start ? at : undefined;
}

/** Replace the marks by links. The link of a mark inside code or a URL follows the code or the link. */
export function marksAsLinks() {
  return (tree: Root): void => replace(tree);
}

function replace(parent: Nodes): void {
  if (!("children" in parent)) return;
  const children: Nodes[] = parent.children;
  children.splice(0, children.length, ...children.flatMap(replaced));
}

function replaced(node: Nodes): Nodes[] {
  if (node.type === "text") return split(node.value);
  const found = marksOf(node);
  replace(node);
  if (found.length === 0) return [node];
  return node.type === "code" ? [node, { type: "paragraph", children: found }] : [node, ...found];
}

/** Remove the marks from code, URLs and titles. */
function marksOf(node: Nodes): Link[] {
  const found: Link[] = [];
  const fields = node as unknown as Record<string, unknown>;
  for (const name of ["value", "url", "title", "alt", "lang", "meta"]) {
    const value = fields[name];
    if (typeof value !== "string" || !value.includes(OPEN)) continue;
    fields[name] = value.replace(MARK, (_, index: string) => {
      found.push(link(index));
      return "";
    });
  }
  return found;
}

function split(text: string): PhrasingContent[] {
  const pieces = text.split(MARK); // the odd items are the matches
  return pieces.flatMap((piece, index): PhrasingContent[] => {
    if (index % 2 === 1) return [link(piece)];
    return piece === "" ? [] : [{ type: "text", value: piece }];
  });
}

function link(index: string): Link {
  return { type: "link", url: `${LINK}${index}`, children: [] };
}
