// Reads fixtures/NAME/: what the user does in each turn (fixture.json), and what the converter must write for it
// (expected.v6.json, expected.v7.json). The events themselves (turnN.jsonl) are for Python.

import { existsSync, readFileSync, readdirSync } from 'node:fs';

const FOLDER = new URL('../fixtures/', import.meta.url);
const encoder = new TextEncoder();

export const fixtureNames = readdirSync(FOLDER, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(entry => entry.name)
  .sort();

const at = (name, file) => new URL(`${name}/${file}`, FOLDER);

export const hasExpectation = (name, protocol) => existsSync(at(name, `expected.v${protocol}.json`));

/**
 * `{turns: [{actions, history, chunks, bytes}], messages}`; `bytes` is the response body as Python writes it, `history`
 * what a page gets that is loaded anew before the turn.
 */
export function loadFixture(name, protocol) {
  const { turns } = JSON.parse(readFileSync(at(name, 'fixture.json'), 'utf8'));
  const text = readFileSync(at(name, `expected.v${protocol}.json`), 'utf8');
  const expected = JSON.parse(text);
  const lines = chunkLines(text);
  const loaded = turns.map(({ actions }, index) => {
    const { chunks, history } = expected.turns[index];
    return { actions, history, chunks, bytes: sse(lines.splice(0, chunks.length)) };
  });
  if (lines.length > 0) throw new Error(`${name}: not every chunk stands on a line of its own`);
  return { turns: loaded, messages: expected.messages };
}

// build.py puts each chunk on a line of its own, exactly as it goes over the wire.
const chunkLines = text =>
  text
    .split('\n')
    .filter(line => line.startsWith('{"type":'))
    .map(line => line.replace(/,$/, ''));

/** The JSON texts as a response body. */
export const sse = texts => encoder.encode([...texts, '[DONE]'].map(text => `data: ${text}\n\n`).join(''));
