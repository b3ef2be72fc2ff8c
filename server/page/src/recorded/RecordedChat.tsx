import { type ChatMessage, type Outcomes, speakerOf } from "../components/chat/message-types";
import { Problem } from "../components/chat/Problem";
import { Message } from "../components/messages/Message";

type RecordedChatProps = {
  messages: ChatMessage[];
  /** How earlier answers have ended that are not whole. */
  outcomes?: Outcomes;
  /** The text of the error with which the newest answer has ended. */
  failure?: string | undefined;
};

/** The messages of a recording, as the page shows them. Nothing in them can be answered. */
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

/** Nothing waits in a recording. */
function ignore(): void {}
