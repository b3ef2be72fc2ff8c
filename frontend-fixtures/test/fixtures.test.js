// Every fixture before every client.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CLIENTS } from '../harness/clients.js';
import { fixtureNames, hasExpectation, loadFixture } from '../harness/fixtures.js';
import { judgeChunks, judgeConversation } from '../harness/judge.js';

const AWKWARD_PIECE = 7; // bytes; cuts SSE fields, JSON escapes and UTF-8 sequences alike

test('every fixture has an expectation for v6 and for v7', () => {
  const missing = fixtureNames.filter(name => !hasExpectation(name, 6) || !hasExpectation(name, 7));
  assert.deepEqual(missing, []);
  assert.ok(fixtureNames.length > 0);
});

for (const client of CLIENTS) {
  describe(client.name, () => {
    for (const name of fixtureNames.filter(name => hasExpectation(name, client.protocol))) {
      const fixture = loadFixture(name, client.protocol);
      test(`${name}: every chunk passes the client's schema`, () =>
        judgeChunks(client, fixture.turns.flatMap(turn => turn.chunks)));
      test(`${name}: the chat ends with the expected messages`, () => judgeConversation(client, fixture));
      test(`${name}: so it does when the bytes arrive in awkward pieces`, () =>
        judgeConversation(client, fixture, { pieceSize: AWKWARD_PIECE }));
    }
  });
}

for (const client of CLIENTS.filter(client => client.protocol > 6)) {
  test(`${client.name} takes the streams for v6 as well`, async () => {
    for (const name of fixtureNames) {
      await judgeChunks(client, loadFixture(name, 6).turns.flatMap(turn => turn.chunks));
    }
  });
}
