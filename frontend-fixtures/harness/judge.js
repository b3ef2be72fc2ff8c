// What the client says of a stream. Each function throws an AssertionError that says what is wrong.

import assert from 'node:assert/strict';
import { Server, act, openChat, settle } from './chat.js';

/** Every chunk passes the schema that the client itself holds each SSE event to. */
export async function judgeChunks({ ai, name }, chunks) {
  const schema = ai.asSchema(ai.uiMessageChunkSchema);
  for (const chunk of chunks) {
    const { success, error } = await schema.validate(chunk);
    assert.ok(success, `${name} refuses ${JSON.stringify(chunk)}: ${error}`);
  }
}

/**
 * A conversation over these turns ends, after each turn, at rest with one request per turn made and the status that its
 * chunks call for; and the assistant's messages are `messages`.
 */
export async function judgeConversation(client, { turns, messages }, { pieceSize } = {}) {
  const server = new Server(turns.map(turn => turn.bytes), { pieceSize });
  let chat = openChat(client, server);
  for (const [index, turn] of turns.entries()) {
    for (const action of turn.actions) {
      if (action.reload) chat = openChat(client, { ...server, messages: turn.history });
      else await act(chat, action);
    }
    await settle(chat);
    assert.equal(server.requests.length, index + 1, `${client.name}: requests after turn ${index + 1}`);
    assert.deepEqual(outcome(chat), expectedOutcome(turn.chunks), `${client.name}: outcome of turn ${index + 1}`);
  }
  assert.deepEqual(comparable(client, assistantMessages(chat)), comparable(client, messages));
}

const outcome = chat => ({ status: chat.status, error: chat.error?.message });

function expectedOutcome(chunks) {
  const error = chunks.find(chunk => chunk.type === 'error');
  return { status: error ? 'error' : 'ready', error: error?.errorText };
}

const assistantMessages = chat => JSON.parse(JSON.stringify(chat.messages.filter(message => message.role === 'assistant')));

// Parts carry these only since 6.0.253 (a reasoning part's id) and 6.0.297 (rawInput).
function comparable(client, messages) {
  if (client.newest) return messages;
  return messages.map(message => ({ ...message, parts: message.parts.map(withoutLaterKeys) }));
}

function withoutLaterKeys({ rawInput, ...part }) {
  if (part.type === 'reasoning') delete part.id;
  return part;
}
