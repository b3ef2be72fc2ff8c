import { useState } from "react";
import { Fields, isObject } from "./Fields";
import type { Confirmation } from "../chat/message-types";

/** What the user decides, and the payload that the tool asked for. */
export type OnApproval = (answer: { id: string; approved: boolean; reason?: string }, payload?: unknown) => void;

type ApprovalProps = { id: string; confirmation: Confirmation | undefined; onApproval: OnApproval };

/** Approve or deny, with a reason; where the tool asks for a payload, with a field for each of its keys. */
export function Approval({ id, confirmation, onApproval }: ApprovalProps) {
  const [reason, setReason] = useState("");
  const asked = confirmation?.payload;
  const fields = isObject(asked) ? asked : { payload: asked }; // one field for what has no keys
  const [values, setValues] = useState(fields);
  const respond = (approved: boolean) => {
    const words = reason.trim();
    const answer = words === "" ? { id, approved } : { id, approved, reason: words };
    const payload = isObject(asked) ? values : values["payload"];
    onApproval(answer, approved ? payload : undefined);
  };
  return (
    // No form: Enter in the field for the reason must not approve.
    <div className="answer" role="group" aria-label="Approval">
      {confirmation?.hint && <p className="question">{confirmation.hint}</p>}
      {asked !== undefined && <Fields asked={fields} now={values} onChange={setValues} />}
      <input
        value={reason}
        onChange={(event) => setReason(event.target.value)}
        placeholder="Reason (optional)"
        aria-label="Reason"
      />
      <button type="button" className="primary" onClick={() => respond(true)}>
        Approve
      </button>
      <button type="button" onClick={() => respond(false)}>
        Deny
      </button>
    </div>
  );
}
