/** The tags that models without a form of their own for thoughts begin a text with. */
const THOUGHT = /^\s*<(think|thinking)>([^]*?)(<\/\1>\s*|$)/;

/**
 * The thought at the beginning of a text, and the answer after it. In any other place the tags are text, and in a finished
 * text also without the closing one. `live`: the text still grows.
 */
export function splitThought(text: string, live: boolean): { thought: string; answer: string; ended: boolean } | undefined {
  const [whole, , thought, close] = THOUGHT.exec(text) ?? [];
  if (whole === undefined || thought === undefined || (!close && !live)) return undefined;
  return { thought: thought.trim(), answer: text.slice(whole.length), ended: Boolean(close) };
}
