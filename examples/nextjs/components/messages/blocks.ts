import remend, { type RemendOptions } from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";
import { withoutHalfFormula } from "./unfinished-formula";

/**
 * Options of `remend`, which completes unfinished Markdown at the end of a text. A link shows only its text until its
 * URL is complete. HTML and single tildes are text, so both stay as they are. `comparisons` handles `- > 25`.
 */
const OPTIONS: RemendOptions = { linkMode: "text-only", htmlTags: false, singleTilde: false, comparisonOperators: false };

/** Indented code, which has no fence. */
const INDENTED = /^(?: {4}| {0,3}\t)/;

/** Split a text into blocks: paragraphs, lists and fences, without blank lines around them. */
export function wholeBlocks(markdown: string): string[] {
  return parseMarkdownIntoBlocks(markdown).filter((block) => block.trim() !== "");
}

/** The blocks of a streaming text. Only the last block can still change. */
export function growingBlocks(markdown: string): string[] {
  const blocks = wholeBlocks(markdown);
  const last = blocks.pop();
  if (last !== undefined) blocks.push(INDENTED.test(last) ? last : remend(withoutHalfFormula(last), OPTIONS));
  return blocks;
}
