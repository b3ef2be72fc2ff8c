import { isToolUIPart } from "ai";
import { callsInside, type ChatMessage, type ChatPart, progressOf } from "../chat/message-types";
import { Calls } from "../tools/Calls";
import { credentialRequests } from "../tools/Credential";
import { Json } from "../tools/Json";
import { type Answers, showsItself, type ToolPart } from "../tools/ToolCard";
import { Boundary } from "../ui/boundary";
import { Part } from "./Part";
import { PlainText } from "./PlainText";
import { isSource, numberedSources, Sources } from "./Sources";

type PartsProps = Answers & { message: ChatMessage; root: string | undefined; agent: string | undefined; live: boolean };

/**
 * The parts of an agent in order: those of a message, or of a call that runs an agent. A question inside such a call is
 * also a part of the message. The card shows the question, and the answer goes to the message's part. The card of a call
 * also shows the request for its credential. Sources stay where they arrived.
 */
export function Parts({ message, root, agent, live, ...answers }: PartsProps) {
  const inside = callsInside(message.parts);
  const requests = new Set<ChatPart>(credentialRequests(message.parts).map(([, request]) => request));
  const asked = (part: ChatPart) => (isToolUIPart(part) && answers.asked?.find(({ toolCallId }) => toolCallId === part.toolCallId)) || part;
  const own = message.parts.filter((part) => !isToolUIPart(part) || !(inside.has(part.toolCallId) || requests.has(part))).map(asked);
  const runs = runsOf(own);
  const sources = numberedSources(message.parts);
  const show = (call: ToolPart) =>
    showsItself(call, answers) || (call.state === "input-available" && progressOf(message, call.toolCallId) !== undefined);
  return runs.flatMap(([first, run]) => {
    const place = sources.findIndex((source) => run.includes(source));
    if (place >= 0) return <Sources key={first} sources={sources.filter((source) => run.includes(source))} first={place + 1} />;
    const parts = run.map((part, index) => (
      <Boundary key={first + index} of={part} otherwise={<PlainPart part={part} />}>
        <Part part={part} message={message} root={root} agent={agent} live={live} {...answers} />
      </Boundary>
    ));
    const calls = run.filter(isToolUIPart);
    if (calls.length === 0) return parts;
    return (
      <Calls key={first} parts={calls} passed={answers.passed} stopped={answers.stopped} show={calls.some(show)} live={live}>
        {parts}
      </Calls>
    );
  });
}

/** The parts in groups, each with the index of its first part. Consecutive calls form a group, and so do sources. */
function runsOf(parts: ChatPart[]): [number, ChatPart[]][] {
  const runs: [number, ChatPart[]][] = [];
  for (const [index, part] of parts.entries()) {
    const [, last] = runs.at(-1) ?? [];
    const before = last?.at(-1);
    if (last && before && ((isToolUIPart(part) && isToolUIPart(before)) || (isSource(part) && isSource(before)))) last.push(part);
    else runs.push([index, [part]]);
  }
  return runs;
}

/** Fallback for a part that cannot be rendered: its text, or its JSON. */
function PlainPart({ part }: { part: ChatPart }) {
  if (part.type === "text" || part.type === "reasoning") return <PlainText text={part.text} />;
  return <Json value={part} label={part.type} />;
}
