import type { ReasoningUIPart } from "ai";
import { Brain } from "lucide-react";
import { useState } from "react";
import { Collapsible } from "../ui/collapsible";
import { duration } from "../ui/duration";
import { useSeconds } from "../ui/use-seconds";
import { Markdown } from "./Markdown";

/** Reasoning of the model. Open while streaming, then collapsed with its duration. The user can toggle it. */
export function Reasoning({ part, live }: { part: ReasoningUIPart; live: boolean }) {
  const [chosen, choose] = useState<boolean>();
  const seconds = useSeconds(live);
  if (part.text === "") return null;
  return (
    <Collapsible
      open={chosen ?? live}
      onOpenChange={choose}
      className="text-sm text-muted-foreground"
      summaryClassName="py-0.5 hover:text-foreground"
      summary={
        <>
          <Brain className="size-4 shrink-0" aria-hidden />
          <span className={live ? "animate-pulse" : ""}>{live ? "Thinking…" : thought(seconds)}</span>
        </>
      }
    >
      <div className="mt-1.5 border-s-2 ps-4" data-reasoning>
        <Markdown text={part.text} live={live} />
      </div>
    </Collapsible>
  );
}

/** The label has no duration if it is unknown or very short. */
function thought(seconds = 0): string {
  return seconds < 1 ? "Thought" : `Thought for ${duration(seconds)}`;
}
