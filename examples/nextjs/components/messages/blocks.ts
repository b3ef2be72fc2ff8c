import remend, { type RemendOptions } from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";

/**
 * Closes what the end of a text leaves open. Until its URL is complete, a link shows its text alone. A `<` hides nothing,
 * because HTML is text. One tilde strikes nothing out, and `comparisons` finds `- > 25`.
 */
const OPTIONS: RemendOptions = { linkMode: "text-only", htmlTags: false, singleTilde: false, comparisonOperators: false };

/** Code that has no fence, but an indent. */
const INDENTED = /^(?: {4}| {0,3}\t)/;

/** The paragraphs, lists and fences of a text, without blank lines around them. */
export function wholeBlocks(markdown: string): string[] {
  return parseMarkdownIntoBlocks(markdown).filter((block) => block.trim() !== "");
}

/** The same of a text that grows at its end: the blocks before the last one are finished. */
export function growingBlocks(markdown: string): string[] {
  const blocks = wholeBlocks(markdown);
  const last = blocks.pop();
  if (last !== undefined) blocks.push(INDENTED.test(last) ? last : remend(last, OPTIONS));
  return blocks;
}
