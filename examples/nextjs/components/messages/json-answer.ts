/** The beginning of an object, or of a list of objects or texts. */
const BEGINNING = /^\s*(?:\{\s*"|\[\s*[{"])/;

const TEXT_OR_BRACKET = /"(?:\\[^]|[^"\\])*"?|[{}[\]]/g;

/**
 * A text that is JSON and nothing else, as a fence: agents with an output schema answer so. As Markdown its lines would
 * be one paragraph, and `__type__` would be bold. `live`: the text still grows.
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

/** True unless there is more after its end. */
function mayBecomeJson(text: string): boolean {
  let depth = 0;
  for (const { 0: found, index } of text.matchAll(TEXT_OR_BRACKET)) {
    if ("{[".includes(found)) depth++;
    if ("}]".includes(found) && --depth === 0) return text.slice(index + 1).trim() === "";
  }
  return true;
}
