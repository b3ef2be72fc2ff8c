import { type ChatMessage, type Outcomes, speakerOf } from "../components/chat/message-types";
import { Problem } from "../components/chat/Problem";
import { Message } from "../components/messages/Message";

type RecordedChatProps = {
  messages: ChatMessage[];
  /** Outcomes of earlier answers that are incomplete. */
  outcomes?: Outcomes;
  /** Error text that ended the newest answer. */
  failure?: string | undefined;
};

/** The messages of a recording as the page shows them. The user cannot answer them. */
export function RecordedChat({ messages, outcomes, failure }: RecordedChatProps) {
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
          outcome={outcomes?.get(message.id)}
          busy={false}
          onApproval={ignore}
          onOutput={ignore}
        />
      ))}
      {failure !== undefined && <Problem text={failure} onRetry={undefined} />}
    </div>
  );
}

/** A recording has no pending calls. */
function ignore(): void {}
