/** Tags of models that write their reasoning into the text. */
const THOUGHT = /^\s*<(think|thinking)>([^]*?)(<\/\1>\s*|$)/;

/**
 * Split a text into the reasoning at its beginning and the reply after it. Elsewhere the tags are text. In a finished
 * text, a tag without a closing tag is text too. `live`: the text is streaming.
 */
export function splitThought(text: string, live: boolean): { thought: string; answer: string; ended: boolean } | undefined {
  const [whole, , thought, close] = THOUGHT.exec(text) ?? [];
  if (whole === undefined || thought === undefined || (!close && !live)) return undefined;
  return { thought: thought.trim(), answer: text.slice(whole.length), ended: Boolean(close) };
}
