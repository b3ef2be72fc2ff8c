import type { Steering as SteeringData } from "../chat/use-queue";
import { File } from "./File";
import { Words } from "./UserMessage";

/** A user message that the agent read while it was working. */
export function Steering({ data }: { data: SteeringData }) {
  return (
    <div role="group" aria-label="You, while the agent worked" className="flex flex-col items-end gap-2 self-stretch" data-steering>
      {data.parts.map((part, index) => {
        if (part.type === "file") return <File key={index} part={part} />;
        return part.type === "text" && <Words key={index} text={part.text} />;
      })}
    </div>
  );
}
