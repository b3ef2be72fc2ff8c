// What clients say of a chat that a server sends when a page opens. One list of messages a line on stdin, and one list
// of refusals a line on stdout, in the same order; it is empty if v6 and v7 take the messages.
import { createInterface } from 'node:readline';

const clients = { v6: await import('ai-v6'), v7: await import('ai-v7') };

async function refusals(messages) {
  const asked = Object.entries(clients).map(([version, { validateUIMessages }]) =>
    validateUIMessages({ messages }).then(() => [], error => [`${version}: ${error.message}`]),
  );
  return (await Promise.all(asked)).flat();
}

for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await refusals(JSON.parse(line))));
}
