// Every fixture before every client.

import assert from 'node:assert/strict';
import { CLIENTS } from '../harness/clients.js';
import { fixtureNames, hasExpectation, loadFixture } from '../harness/fixtures.js';
import { judgeChunks, judgeConversation } from '../harness/judge.js';

const AWKWARD_PIECE = 7; // bytes; cuts SSE fields, JSON escapes and UTF-8 sequences alike

/** What there is to judge, in order: `{suite, name, judge}`. */
function* checks() {
  for (const client of CLIENTS) {
    for (const name of fixtureNames.filter(name => hasExpectation(name, client.protocol))) {
      const fixture = loadFixture(name, client.protocol);
      const check = (what, judge) => ({ suite: client.name, name: `${name}: ${what}`, judge });
      yield check("every chunk passes the client's schema", () =>
        judgeChunks(client, fixture.turns.flatMap(turn => turn.chunks)));
      yield check('the chat ends with the expected messages', () => judgeConversation(client, fixture));
      yield check('so it does when the bytes arrive in awkward pieces', () =>
        judgeConversation(client, fixture, { pieceSize: AWKWARD_PIECE }));
    }
    if (client.protocol > 6) {
      yield { suite: client.name, name: 'it takes the streams for v6 as well', judge: () => judgeStreamsForV6(client) };
    }
  }
}

async function judgeStreamsForV6(client) {
  for (const name of fixtureNames) {
    await judgeChunks(client, loadFixture(name, 6).turns.flatMap(turn => turn.chunks));
  }
}

// Judged before node:test is loaded: it follows every promise from then on, and streams are made of promises.
const judged = [];
for (const { suite, name, judge } of checks()) {
  const failure = await judge().then(() => undefined, error => error);
  judged.push({ suite, name, failure });
}

const { describe, test } = await import('node:test');

test('every fixture has an expectation for v6 and for v7', () => {
  const missing = fixtureNames.filter(name => !hasExpectation(name, 6) || !hasExpectation(name, 7));
  assert.deepEqual(missing, []);
  assert.ok(fixtureNames.length > 0);
});

for (const { name: suite } of CLIENTS) {
  describe(suite, () => {
    for (const { name, failure } of judged.filter(each => each.suite === suite)) {
      test(name, () => {
        if (failure) throw failure;
      });
    }
  });
}
