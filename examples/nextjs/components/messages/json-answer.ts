/** The beginning of a JSON object, or of a list of objects or strings. */
const BEGINNING = /^\s*(?:\{\s*"|\[\s*[{"])/;

const TEXT_OR_BRACKET = /"(?:\\[^]|[^"\\])*"?|[{}[\]]/g;

/**
 * Wrap a text that is only JSON in a fence. Agents with an output schema reply in JSON, and Markdown would join its
 * lines and make `__type__` bold. `live`: the text is streaming.
 */
export function jsonAsCode(text: string, live: boolean): string | undefined {
  if (!BEGINNING.test(text) || !(live ? mayBecomeJson(text) : isJson(text))) return undefined;
  const ticks = text.match(/`{3,}/g) ?? [];
  const fence = "`".repeat(Math.max(3, ...ticks.map(({ length }) => length + 1)));
  return `${fence}json\n${text}\n${fence}`;
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** True unless text follows the end of the JSON value. */
function mayBecomeJson(text: string): boolean {
  let depth = 0;
  for (const { 0: found, index } of text.matchAll(TEXT_OR_BRACKET)) {
    if ("{[".includes(found)) depth++;
    if ("}]".includes(found) && --depth === 0) return text.slice(index + 1).trim() === "";
  }
  return true;
}
