import { memo } from "react";
import { type ChatMessage, type MessageVersions, type Outcome, textOf } from "../chat/message-types";
import type { Answers } from "../tools/ToolCard";
import { Boundary } from "../ui/boundary";
import { AgentMessage } from "./AgentMessage";
import { PlainText } from "./PlainText";
import { UserMessage } from "./UserMessage";

export type MessageProps = Omit<Answers, "stopped"> & {
  message: ChatMessage;
  /** How the answer has ended, if it is not whole. */
  outcome?: Outcome | undefined;
  /** The agent that speaks unless something else is said. */
  root: string | undefined;
  /** The agent that the server names, which is the one that speaks as long as nothing says otherwise. */
  agent: string | undefined;
  /** This message is being written. */
  live: boolean;
  /** Some message of the chat is being written. */
  busy: boolean;
  /** Without these a message cannot be changed. */
  onEdit?: (messageId: string, text: string) => void;
  /** Asks anew, where the answer has failed. */
  onRetry?: (() => unknown) | undefined;
  onRegenerate?: ((options: { messageId: string }) => unknown) | undefined;
  /** Its versions, if it has several. */
  versions?: MessageVersions | undefined;
  onChoose?: ((version: string) => unknown) | undefined;
};

export const Message = memo(function Message(props: MessageProps) {
  const { message } = props;
  return (
    <Boundary of={message} otherwise={<PlainText text={textOf(message)} />}>
      {message.role === "user" ? <UserMessage {...props} /> : <AgentMessage {...props} />}
    </Boundary>
  );
});
