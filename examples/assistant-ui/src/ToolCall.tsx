import type { ToolCallMessagePartProps } from "@assistant-ui/react";

/** What the agent may do in this page, by the names that it was told with `client_tool(…)`. */
const TOOLS: Record<string, { question: string; run: () => unknown }> = {
  get_time_zone: {
    question: "May the agent know your time zone?",
    run: () => ({ timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone }),
  },
};

export function ToolCall(part: ToolCallMessagePartProps) {
  const { toolName, argsText, result, isError, approval, status } = part;
  const tool = TOOLS[toolName];
  const state = stateOf(part);
  return (
    <section className="tool" aria-label={`Tool ${toolName}`} data-state={state}>
      <details open={state === "approval-requested"}>
        <summary>
          {toolName} <span className="faint">{state.replace("-", " ")}</span>
        </summary>
        <pre>{argsText}</pre>
        {result !== undefined && <pre className={isError ? "failure" : ""}>{JSON.stringify(result, null, 2)}</pre>}
      </details>
      {state === "approval-requested" && status.type !== "running" && (
        <div className="row" role="group" aria-label="Approval">
          <p>{approval?.reason ?? "May this run?"}</p>
          <button type="button" onClick={() => void part.respondToApproval({ approved: false })}>
            Deny
          </button>
          <button type="button" className="primary" onClick={() => void part.respondToApproval({ approved: true })}>
            Approve
          </button>
        </div>
      )}
      {state === "input-available" && tool && (
        <div className="row" role="group" aria-label="In this page">
          <p>{tool.question}</p>
          <button type="button" className="primary" onClick={() => part.addResult(tool.run())}>
            Allow
          </button>
        </div>
      )}
    </section>
  );
}

/** The states of the AI SDK, of which assistant-ui makes its own. */
function stateOf({ approval, result, isError }: ToolCallMessagePartProps): string {
  if (approval?.approved === false) return "output-denied";
  if (result !== undefined) return isError ? "output-error" : "output-available";
  if (approval) return approval.approved ? "approval-responded" : "approval-requested";
  return "input-available";
}
