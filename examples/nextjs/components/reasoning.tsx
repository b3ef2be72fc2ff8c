import type { ReasoningUIPart } from "ai";
import { Brain, ChevronDown } from "lucide-react";
import { Collapsible } from "radix-ui";
import { useState } from "react";
import { Markdown } from "./markdown";

/** What the model thinks: open while it does, then closed, unless the reader says otherwise. */
export function Reasoning({ part, live }: { part: ReasoningUIPart; live: boolean }) {
  const [chosen, choose] = useState<boolean>();
  if (part.text === "") return null;
  return (
    <Collapsible.Root open={chosen ?? live} onOpenChange={choose} className="text-sm text-muted-foreground">
      <Collapsible.Trigger className="group/reasoning flex items-center gap-2 rounded-md py-1 hover:text-foreground">
        <Brain className="size-4" aria-hidden />
        {live ? "Thinking…" : "Thoughts"}
        <ChevronDown className="size-4 transition-transform group-data-[state=open]/reasoning:rotate-180" aria-hidden />
      </Collapsible.Trigger>
      <Collapsible.Content className="mt-1 border-l-2 pl-4">
        <Markdown text={part.text} live={live} />
      </Collapsible.Content>
    </Collapsible.Root>
  );
}
