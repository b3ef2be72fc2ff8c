import { useState } from "react";
import { isObject, type ToolPart, type Values } from "@/lib/chat-message";
import type { AdkConfirmation } from "@/lib/chat-types";
import { useAnswers } from "./answers";
import { Button } from "./button";
import { Fields, INPUT } from "./fields";

type ApprovalProps = { part: Extract<ToolPart, { state: "approval-requested" }>; confirmation: AdkConfirmation | undefined };

/** Asks whether a call may run. A tool that asks by itself may say why, and want to know more. */
export function Approval({ part, confirmation }: ApprovalProps) {
  const { decide } = useAnswers();
  const [reason, setReason] = useState("");
  const payload = confirmation?.payload;
  const asked: Values = isObject(payload) ? payload : { answer: payload }; // one field for what has no keys
  const [values, setValues] = useState(asked);
  const respond = (approved: boolean) =>
    decide(
      { id: part.approval.id, approved, reason: reason.trim() || undefined },
      approved && payload !== undefined ? (isObject(payload) ? values : values["answer"]) : undefined,
    );
  return (
    // No form: Enter in the field for the reason must not approve.
    <div role="group" aria-label="Approval" className="space-y-3 border-t p-3">
      <p>{confirmation?.hint || "May this run?"}</p>
      {isObject(part.input) && <Arguments input={part.input} />}
      {payload !== undefined && <Fields asked={asked} values={values} onChange={setValues} />}
      <div className="flex flex-wrap gap-2">
        <input
          value={reason}
          aria-label="Reason"
          placeholder="Reason (optional)"
          onChange={(event) => setReason(event.target.value)}
          className={`${INPUT} min-w-40 flex-1 max-sm:basis-full`}
        />
        <Button onClick={() => respond(false)}>Deny</Button>
        <Button look="primary" onClick={() => respond(true)}>
          Approve
        </Button>
      </div>
    </div>
  );
}

/** What would run must be seen before it is approved. */
function Arguments({ input }: { input: Values }) {
  return (
    <dl className="grid grid-cols-[auto_1fr] gap-x-4 gap-y-1">
      {Object.entries(input).map(([name, value]) => (
        <div key={name} className="contents">
          <dt className="text-muted-foreground">{name.replaceAll("_", " ")}</dt>
          <dd className="wrap-anywhere">{typeof value === "string" ? value : JSON.stringify(value)}</dd>
        </div>
      ))}
    </dl>
  );
}
