import type { BlockContent, Definition, DefinitionContent, FootnoteDefinition, Nodes, PhrasingContent, Root } from "mdast";

const WEB = /^https?:\/\//i;

/**
 * Show link definitions and footnotes without references as text. Markdown hides them, so `[Answer]: 42` and a list of
 * sources such as `[1]: https://x.example` would disappear.
 */
export function unusedDefinitions() {
  return (tree: Root): void => {
    const used = new Set<string>();
    note(tree, used);
    show(tree, used);
  };
}

function note(node: Nodes, used: Set<string>): void {
  if (node.type === "linkReference" || node.type === "imageReference") used.add(node.identifier);
  if (node.type === "footnoteReference") used.add(`^${node.identifier}`);
  if ("children" in node) for (const child of node.children) note(child, used);
}

function show(parent: Nodes, used: Set<string>): void {
  if (!("children" in parent)) return;
  const children: Nodes[] = parent.children;
  const shown = children.flatMap((child): Nodes[] => {
    show(child, used);
    if (child.type === "definition" && !used.has(child.identifier)) return [paragraphOf(child)];
    if (child.type === "footnoteDefinition" && !used.has(`^${child.identifier}`)) return blocksOf(child);
    return [child];
  });
  children.splice(0, children.length, ...shown);
}

function paragraphOf({ label, identifier, url, title }: Definition): BlockContent {
  const address: PhrasingContent = { type: "text", value: url };
  const children: PhrasingContent[] = [
    { type: "text", value: `[${label ?? identifier}]: ` },
    WEB.test(url) ? { type: "link", url, children: [address] } : address,
  ];
  if (title) children.push({ type: "text", value: ` "${title}"` });
  return { type: "paragraph", children };
}

function blocksOf({ label, identifier, children }: FootnoteDefinition): (BlockContent | DefinitionContent)[] {
  const name: PhrasingContent = { type: "text", value: `[^${label ?? identifier}]: ` };
  const [first, ...others] = children;
  if (first?.type === "paragraph") return [{ ...first, children: [name, ...first.children] }, ...others];
  return [{ type: "paragraph", children: [name] }, ...children];
}
