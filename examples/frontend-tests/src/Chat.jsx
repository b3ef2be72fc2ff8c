import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useMemo } from 'react';

/** Sends the one message that a request is about: the server has the others, and their files. */
const lastMessageTransport = api =>
  new DefaultChatTransport({
    api,
    prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
      body: {
        ...body,
        id,
        trigger,
        messageId,
        message: messages.find(({ id }) => id === messageId) ?? messages.at(-1),
      },
    }),
  });

/** The component under test: a small chat with a card for each tool call. */
export function Chat({ id, api = '/api/chat' }) {
  const transport = useMemo(() => lastMessageTransport(api), [api]);
  const { messages, sendMessage, addToolApprovalResponse, error, status } = useChat({
    id,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return (
    <main>
      {messages.map(message => (
        <article key={message.id} aria-label={message.role}>
          {message.parts.map((part, index) => (
            <Part key={index} part={part} onApproval={addToolApprovalResponse} />
          ))}
        </article>
      ))}
      {error && <p role="alert">{error.message}</p>}
      <form
        onSubmit={event => {
          event.preventDefault();
          void sendMessage({ text: new FormData(event.currentTarget).get('text') });
        }}
      >
        <input name="text" aria-label="Message" />
      </form>
      <p role="status">{status}</p>
    </main>
  );
}

function Part({ part, onApproval }) {
  if (part.type === 'text') return <p>{part.text}</p>;
  if (!part.type.startsWith('tool-')) return null;
  return (
    <section aria-label={part.type} data-state={part.state}>
      <pre>{JSON.stringify(part.input)}</pre>
      {part.state === 'approval-requested' && (
        <button onClick={() => void onApproval({ id: part.approval.id, approved: true })}>Approve</button>
      )}
      {part.state === 'output-available' && <samp>{JSON.stringify(part.output)}</samp>}
    </section>
  );
}
