import remend, { type RemendOptions } from "remend";
import { parseMarkdownIntoBlocks } from "streamdown";

/**
 * Closes what the end of a text leaves open. Until its URL is complete, a link shows its text alone. A `<` hides nothing,
 * because HTML is text. One tilde strikes nothing out.
 */
const GROWING: RemendOptions = { linkMode: "text-only", htmlTags: false, singleTilde: false };

/** A number above another in an item, `- > 25`, is no quotation. The end of a finished text is what was written. */
const WHOLE: RemendOptions = {
  bold: false,
  boldItalic: false,
  htmlTags: false,
  images: false,
  inlineCode: false,
  italic: false,
  katex: false,
  links: false,
  setextHeadings: false,
  singleTilde: false,
  strikethrough: false,
};

/** The paragraphs, lists and fences of a finished text. */
export function wholeBlocks(markdown: string): string[] {
  return parseMarkdownIntoBlocks(markdown).map((block) => mended(block, WHOLE));
}

/** The same of a text that grows at its end: the blocks before the last one are finished, so nothing in them is open. */
export function growingBlocks(markdown: string): string[] {
  const blocks = parseMarkdownIntoBlocks(markdown);
  return blocks.map((block, index) => mended(block, index === blocks.length - 1 ? GROWING : WHOLE));
}

/** Code that has no fence, but an indent. */
const INDENTED = /^(?: {4}| {0,3}\t)/;

function mended(block: string, options: RemendOptions): string {
  return INDENTED.test(block) ? block : remend(block, options);
}
