// When the real clients send by themselves. One JSON object a line on stdin: {"ai": 6 | 7, "messages": [message]}
// and one a line on stdout, in the same order: by the name of each predicate, whether it sends.
import { createInterface } from 'node:readline';
import { predicates } from '../harness/chat.js';

const PREDICATES = { 6: predicates(await import('ai-v6')), 7: predicates(await import('ai-v7')) };

for await (const line of createInterface({ input: process.stdin })) {
  const { ai, messages } = JSON.parse(line);
  console.log(JSON.stringify(Object.fromEntries(Object.entries(PREDICATES[ai]).map(([name, sends]) => [name, sends({ messages })]))));
}
