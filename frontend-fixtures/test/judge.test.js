// The judge itself: a good conversation passes, and each known way to break the client is seen.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLIENTS } from '../harness/clients.js';
import { sse } from '../harness/fixtures.js';
import { judgeChunks, judgeConversation } from '../harness/judge.js';

const START = { type: 'start', messageId: 'm1' };
const STEP = { type: 'start-step' };
const STEP_END = { type: 'finish-step' };
const FINISH = { type: 'finish', finishReason: 'stop' };
const CALL = { type: 'tool-input-available', toolCallId: 't1', toolName: 'pay', input: { n: 1 } };
const OUTPUT = { type: 'tool-output-available', toolCallId: 't1', output: { ok: true } };
const APPROVAL = { type: 'tool-approval-request', approvalId: 'p1', toolCallId: 't1' };

const text = (id, words) => [
  { type: 'text-start', id },
  { type: 'text-delta', id, delta: words },
  { type: 'text-end', id },
];

const turn = (actions, chunks) => ({ actions, chunks, bytes: sse(chunks.map(chunk => JSON.stringify(chunk))) });
const asks = chunks => turn([{ text: 'hi' }], chunks);
const approves = chunks => turn([{ approve: 'p1', approved: true }], chunks);
const answers = chunks => turn([{ answer: 't1', output: { ok: true } }], chunks);

const said = (...parts) => [{ id: 'm1', role: 'assistant', parts }];
const DONE_TEXT = { type: 'text', text: 'Grüße, ✓', state: 'done' };
const CALL_PART = { type: 'tool-pay', toolCallId: 't1', input: { n: 1 }, output: { ok: true }, state: 'output-available' };

const GOOD = {
  'a text': {
    turns: [asks([START, STEP, ...text('0', 'Grüße, ✓'), STEP_END, FINISH])],
    messages: said({ type: 'step-start' }, DONE_TEXT),
  },
  'an error after text': {
    turns: [asks([START, STEP, ...text('0', 'Grüße, ✓'), STEP_END, { type: 'error', errorText: 'An error occurred.' }])],
    messages: said({ type: 'step-start' }, DONE_TEXT),
  },
  'an approval': {
    turns: [
      asks([START, STEP, CALL, APPROVAL, STEP_END, FINISH]),
      approves([START, OUTPUT, STEP, ...text('0', 'Grüße, ✓'), STEP_END, FINISH]),
    ],
    messages: said(
      { type: 'step-start' },
      { ...CALL_PART, approval: { id: 'p1', approved: true } },
      { type: 'step-start' },
      DONE_TEXT,
    ),
  },
  'a tool that runs in the browser': {
    turns: [
      asks([START, STEP, CALL, STEP_END, FINISH]),
      answers([START, STEP, ...text('0', 'Grüße, ✓'), STEP_END, FINISH]),
    ],
    messages: said({ type: 'step-start' }, CALL_PART, { type: 'step-start' }, DONE_TEXT),
  },
};

const BAD = {
  'a delta without a start': {
    why: /outcome of turn 1/,
    turns: [asks([START, STEP, { type: 'text-delta', id: '0', delta: 'x' }, FINISH])],
  },
  'an output for an unknown call': {
    why: /outcome of turn 1/,
    turns: [asks([START, STEP, OUTPUT, STEP_END, FINISH])],
  },
  'an unknown chunk type': {
    why: /outcome of turn 1/,
    turns: [asks([START, { type: 'usage', tokens: 1 }, FINISH])],
  },
  'a text left open': {
    why: /'streaming'/,
    turns: [asks([START, STEP, ...text('0', 'Grüße, ✓').slice(0, 2), FINISH])],
  },
  'a text said twice': {
    why: /strictly deep-equal/,
    turns: [asks([START, STEP, ...text('0', 'Grüße, ✓'), ...text('1', 'Grüße, ✓'), STEP_END, FINISH])],
  },
  'tool outputs with no step behind them, which loop': {
    why: /requests after turn 1/,
    turns: [asks([START, STEP, CALL, OUTPUT, ...text('0', 'Grüße, ✓'), STEP_END, FINISH])],
  },
  'a step behind a pending approval, so that the answer is never sent': {
    why: /requests after turn 2/,
    turns: [
      asks([START, STEP, CALL, APPROVAL, STEP_END, STEP, ...text('0', 'Grüße, ✓'), STEP_END, FINISH]),
      approves([START, OUTPUT, STEP, ...text('0', 'Grüße, ✓'), STEP_END, FINISH]),
    ],
  },
  'a continuation under another id': {
    why: /strictly deep-equal/,
    turns: [
      asks([START, STEP, CALL, APPROVAL, STEP_END, FINISH]),
      approves([{ ...START, messageId: 'm2' }, OUTPUT, STEP, ...text('0', 'Grüße, ✓'), STEP_END, FINISH]),
    ],
  },
};

const BAD_CHUNKS = [
  { type: 'usage', tokens: 1 },
  { type: 'text-start', id: 1 },
  { type: 'text-start', id: '0', providerMetadata: null },
  { type: 'finish', finishReason: 'end_turn' },
  { type: 'tool-output-error', toolCallId: 't1' },
];
const UNKNOWN_KEY = { ...STEP, author: 'root' };
const V7_ONLY = { type: 'reset-step' };

for (const client of CLIENTS) {
  describe(`the judge with ${client.name}`, () => {
    for (const [name, conversation] of Object.entries(GOOD)) {
      test(`accepts ${name}`, () => judgeConversation(client, conversation));
      test(`accepts ${name} byte by byte`, () => judgeConversation(client, conversation, { pieceSize: 1 }));
      test(`accepts each chunk of ${name}`, () =>
        judgeChunks(client, conversation.turns.flatMap(each => each.chunks)));
    }
    for (const [name, { why, turns }] of Object.entries(BAD)) {
      const { messages } = turns.length > 1 ? GOOD['an approval'] : GOOD['a text'];
      test(`refuses ${name}`, () =>
        assert.rejects(judgeConversation(client, { turns, messages }), { name: 'AssertionError', message: why }));
    }
    for (const chunk of BAD_CHUNKS) {
      test(`refuses the chunk ${JSON.stringify(chunk)}`, () =>
        assert.rejects(judgeChunks(client, [chunk]), assert.AssertionError));
    }
    test(`${client.strict ? 'refuses' : 'accepts'} an unknown key`, () =>
      client.strict ? assert.rejects(judgeChunks(client, [UNKNOWN_KEY])) : judgeChunks(client, [UNKNOWN_KEY]));
    test(`${client.protocol === 6 ? 'refuses' : 'accepts'} a chunk that only v7 has`, () =>
      client.protocol === 6 ? assert.rejects(judgeChunks(client, [V7_ONLY])) : judgeChunks(client, [V7_ONLY]));
  });
}
