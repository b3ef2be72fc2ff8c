import { type DynamicToolUIPart, getToolName, type ToolUIPart } from "ai";
import type { ChatTools } from "./chat-types";
import { isPageTool, PAGE_TOOLS, type PageTool } from "./page-tools";

export type Answers = {
  onDecide: (decision: { id: string; approved: boolean }) => void;
  onOutput: (output: { tool: PageTool; toolCallId: string; output: ChatTools[PageTool]["output"] }) => void;
};

type ToolCallProps = Answers & { part: ToolUIPart | DynamicToolUIPart; answerable: boolean };

export function ToolCall({ part, answerable, onDecide, onOutput }: ToolCallProps) {
  const name = getToolName(part);
  const tool = answerable && part.state === "input-available" && isPageTool(name) ? name : undefined;
  return (
    <section className="tool" aria-label={`Tool ${name}`} data-state={part.state}>
      <details open={part.state === "approval-requested"}>
        <summary>
          {name} <span className="faint">{part.state.replace("-", " ")}</span>
        </summary>
        <pre>{JSON.stringify(part.input, null, 2)}</pre>
        {part.state === "output-available" && <pre>{JSON.stringify(part.output, null, 2)}</pre>}
        {part.state === "output-error" && <p className="failure">{part.errorText}</p>}
      </details>
      {part.state === "approval-requested" && answerable && (
        <div className="row" role="group" aria-label="Approval">
          <p>May this run?</p>
          <button type="button" onClick={() => onDecide({ id: part.approval.id, approved: false })}>
            Deny
          </button>
          <button type="button" className="primary" onClick={() => onDecide({ id: part.approval.id, approved: true })}>
            Approve
          </button>
        </div>
      )}
      {tool && (
        <div className="row" role="group" aria-label="In this page">
          <p>{PAGE_TOOLS[tool].question}</p>
          <button type="button" className="primary" onClick={() => onOutput({ tool, toolCallId: part.toolCallId, output: PAGE_TOOLS[tool].run() })}>
            Allow
          </button>
        </div>
      )}
    </section>
  );
}
