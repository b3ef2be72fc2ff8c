// The AI SDK clients that judge: the oldest v6 that is supported, the last strict one (its schemas refuse unknown keys),
// and the newest of each major version.

import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);

async function client(alias, protocol, { strict = false, newest = false } = {}) {
  const ai = await import(alias);
  const { version } = require(`${alias}/package.json`);
  return { name: `ai@${version}`, protocol, strict, newest, ai };
}

/** `{name, protocol: 6|7, strict, newest, ai}`: `ai` is the package itself, `strict` says that it refuses unknown keys. */
export const CLIENTS = await Promise.all([
  client('ai-v6-oldest', 6, { strict: true }),
  client('ai-v6-strict', 6, { strict: true }),
  client('ai-v6', 6, { newest: true }),
  client('ai-v7', 7, { newest: true }),
]);
