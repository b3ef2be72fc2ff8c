import { type FileUIPart, isDataUIPart, isToolUIPart, type TextUIPart } from "ai";
import {
  approvalReasonOf,
  type ChatMessage,
  type ChatPart,
  CITATIONS,
  callerOf,
  confirmationOf,
  denialOf,
  progressOf,
  speakerOf,
} from "../chat/message-types";
import { steeringOf } from "../chat/use-queue";
import { credentialRequests } from "../tools/Credential";
import { type Answers, firstArgument, ToolCard } from "../tools/ToolCard";
import { nameOf } from "../tools/tool-name";
import { later } from "../ui/later";
import { Data } from "./data/Data";
import { File } from "./File";
import { Markdown } from "./Markdown";
import { Reasoning } from "./Reasoning";
import { Speaker } from "./Speaker";
import { Steering } from "./Steering";
import { splitThought } from "./thought";

type PartProps = Answers & { part: ChatPart; message: ChatMessage; root: string | undefined; agent: string | undefined; live: boolean };

type CitedTextProps = { part: TextUIPart; message: ChatMessage; answer: string };

const CitedText = later<CitedTextProps>(
  () => import("./cited/CitedText"),
  (_, { answer }) => <Markdown text={answer} />,
  ({ answer }) => <Markdown text={answer} />,
);

/** One part of an agent's message. */
export function Part({ part, message, root, agent, live, ...answers }: PartProps) {
  if (isToolUIPart(part)) {
    const confirmation = confirmationOf(message, part.toolCallId);
    const name = nameOf(part);
    const caller = callerOf(message, part) ?? root ?? agent;
    return (
      <ToolCard
        part={part}
        name={name}
        confirmation={confirmation}
        reason={approvalReasonOf(message, part)}
        progress={progressOf(message, part.toolCallId)}
        denial={denialOf(message, part.toolCallId)}
        credential={new Map(credentialRequests(message.parts)).get(part.toolCallId)}
        agent={caller}
        {...answers}
      />
    );
  }
  const steering = steeringOf(part);
  if (steering) return <Steering data={steering} />;
  if (isDataUIPart(part)) return <Data type={part.type} data={part.data} />;
  switch (part.type) {
    case "text":
      return <Text part={part} message={message} root={root} live={live} />;
    case "reasoning":
      return <Reasoning part={part} live={live && part.state === "streaming"} />;
    case "file":
      return <File part={part} from={fromTool(part, message)} />;
    default:
      return null; // sources are shown together, and step boundaries are not shown
  }
}

/** The tool that returned the file, with its argument. `undefined` if the step has several calls. */
function fromTool(file: FileUIPart, { parts }: ChatMessage): string | undefined {
  const before = parts.slice(0, parts.indexOf(file));
  const step = before.slice(before.findLastIndex(({ type }) => type === "step-start") + 1);
  const [call, ...others] = step.filter(isToolUIPart);
  if (call?.state !== "output-available" || others.length > 0) return undefined;
  const argument = firstArgument(call);
  return argument === undefined ? nameOf(call) : `${nameOf(call)}: ${argument}`;
}

type TextProps = { part: TextUIPart; message: ChatMessage; root: string | undefined; live: boolean };

function Text({ part, message, root, live }: TextProps) {
  const streaming = live && part.state === "streaming";
  const { thought = "", answer = part.text, ended } = splitThought(part.text, streaming) ?? {};
  if (thought === "" && answer === "") return null;
  const speaker = speakerOf(part);
  const isNew = speaker !== undefined && speaker !== (callerOf(message, part) ?? root);
  const cited = "citations" in part || message.parts.some((other) => other.type === CITATIONS);
  return (
    <div data-text={part.state ?? "done"}>
      {isNew && <Speaker name={speaker} />}
      {thought !== "" && (
        <div className="mb-3">
          <Reasoning part={{ type: "reasoning", text: thought }} live={streaming && !ended} />
        </div>
      )}
      {cited && part.state !== "streaming" ? (
        <CitedText part={part} message={message} answer={answer} />
      ) : (
        <Markdown text={answer} live={streaming} />
      )}
    </div>
  );
}
