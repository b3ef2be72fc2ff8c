import { type ChatMessage, speakerOf } from "../components/chat/message-types";
import { Message } from "../components/messages/Message";

/** The messages of a recording, as the page shows them. Nothing in them can be answered. */
export function RecordedChat({ messages }: { messages: ChatMessage[] }) {
  const root = messages.flatMap(({ parts }) => parts).map(speakerOf).find((speaker) => speaker !== undefined);
  return (
    <div role="log" className="mx-auto flex w-full max-w-2xl flex-col gap-4 px-4 py-6">
      {messages.map((message, index) => (
        <Message
          key={message.id}
          message={message}
          root={root}
          agent={undefined}
          live={false}
          answerable={false}
          passed={index < messages.length - 1}
          busy={false}
          onApproval={ignore}
          onOutput={ignore}
        />
      ))}
    </div>
  );
}

/** Nothing waits in a recording. */
function ignore(): void {}
