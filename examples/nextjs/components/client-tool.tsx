import { getToolName } from "ai";
import { useAnswers } from "./answers";
import { Button } from "./button";
import type { ToolPart } from "@/lib/chat-message";
import type { ChatTools } from "@/lib/chat-types";

type Tools = { [Name in keyof ChatTools]?: { question: string; run: () => ChatTools[Name]["output"] | Promise<ChatTools[Name]["output"]> } };

/**
 * What the agent may do in this page, by the names that it was told with `client_tool(…)`. The user allows each call:
 * so nothing runs again after a reload, or in a second tab.
 */
const TOOLS = {
  get_time_zone: {
    question: "May the agent know your time zone?",
    run: () => ({ timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  },
} satisfies Tools;

export function clientTool(part: ToolPart): keyof typeof TOOLS | undefined {
  const name = getToolName(part);
  return isClientTool(name) ? name : undefined;
}

function isClientTool(name: string): name is keyof typeof TOOLS {
  return Object.hasOwn(TOOLS, name);
}

export function ClientTool({ tool, part }: { tool: keyof typeof TOOLS; part: ToolPart }) {
  const { addToolOutput } = useAnswers();
  const { toolCallId } = part;
  const run = async () => {
    try {
      await addToolOutput({ tool, toolCallId, output: await TOOLS[tool].run() });
    } catch (error) {
      await addToolOutput({ tool, toolCallId, state: "output-error", errorText: String(error) });
    }
  };
  const refuse = () => void addToolOutput({ tool, toolCallId, state: "output-error", errorText: "The user refused." });
  return (
    <div role="group" aria-label="In this page" className="flex flex-wrap items-center gap-2 border-t p-3">
      <p className="flex-1">{TOOLS[tool].question}</p>
      <Button onClick={refuse}>No</Button>
      <Button look="primary" onClick={() => void run()}>
        Allow
      </Button>
    </div>
  );
}
