// Validates lists of messages with the real clients. One JSON object a line on stdin: {"ai": 6 | 7, "messages": [UIMessage]}
// and one a line on stdout, in the same order: null, or why the list is refused.
import { createInterface } from 'node:readline';

const clients = { 6: await import('ai-v6'), 7: await import('ai-v7') };

for await (const line of createInterface({ input: process.stdin })) {
  const { ai, messages } = JSON.parse(line);
  const { success, error } = await clients[ai].safeValidateUIMessages({ messages });
  console.log(JSON.stringify(success ? null : error.message));
}
