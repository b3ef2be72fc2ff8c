import { memo, type Ref } from "react";
import { type ChatMessage, type MessageVersions, type Outcome, textOf } from "../chat/message-types";
import type { Answers } from "../tools/ToolCard";
import { Boundary } from "../ui/boundary";
import { AgentMessage } from "./AgentMessage";
import { PlainText } from "./PlainText";
import { UserMessage } from "./UserMessage";

/** Opens the form that edits a message. */
export type Editable = { edit: () => void };

export type MessageProps = Omit<Answers, "stopped"> & {
  message: ChatMessage;
  /** The outcome of an incomplete reply. */
  outcome?: Outcome | undefined;
  /** The root agent. Parts of other agents show their agent's name. */
  root: string | undefined;
  /** The agent's name from the server, used until a part names the agent. */
  agent: string | undefined;
  /** True while this message is streaming. */
  live: boolean;
  /** True while any message of the chat is streaming. */
  busy: boolean;
  /** Absent if the message cannot be changed. */
  onEdit?: (messageId: string, text: string) => void;
  /** Lets the chat open the form of a user message. */
  editable?: Ref<Editable> | undefined;
  /** Retries after the reply failed. */
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
