import { isToolUIPart } from "ai";
import { callsInside, type ChatMessage, type ChatPart, progressOf } from "../chat/message-types";
import { Calls } from "../tools/Calls";
import { Json } from "../tools/Json";
import { type Answers, showsItself, type ToolPart } from "../tools/ToolCard";
import { Boundary } from "../ui/boundary";
import { Part } from "./Part";
import { PlainText } from "./PlainText";
import { isSource, numberedSources, Sources } from "./Sources";

type PartsProps = Answers & { message: ChatMessage; root: string | undefined; agent: string | undefined; live: boolean };

/**
 * What an agent says and does, in its order: in a message, or in the call that runs the agent. A question inside such a
 * call is also a part of the message, which is the one that is answered: it is shown in the card. The sources stand
 * where they came, and stay there.
 */
export function Parts({ message, root, agent, live, ...answers }: PartsProps) {
  const inside = callsInside(message.parts);
  const asked = (part: ChatPart) => (isToolUIPart(part) && answers.asked?.find(({ toolCallId }) => toolCallId === part.toolCallId)) || part;
  const own = message.parts.filter((part) => !isToolUIPart(part) || !inside.has(part.toolCallId)).map(asked);
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

/** The parts, each with the place of its first one: calls that follow each other are together, and so are sources. */
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

/** A part without its own look: its text, or its JSON. */
function PlainPart({ part }: { part: ChatPart }) {
  if (part.type === "text" || part.type === "reasoning") return <PlainText text={part.text} />;
  return <Json value={part} label={part.type} />;
}
