import { useState } from "react";
import type { Confirmation } from "./message-types";

/** What the user decides, and the payload that the tool asked for. */
export type OnApproval = (answer: { id: string; approved: boolean; reason?: string }, payload?: unknown) => void;

type ApprovalProps = { id: string; confirmation: Confirmation | undefined; onApproval: OnApproval };

/** Approve or deny, with a reason; where the tool asks for a payload, with a field for each of its keys. */
export function Approval({ id, confirmation, onApproval }: ApprovalProps) {
  const [reason, setReason] = useState("");
  const [payload, setPayload] = useState(confirmation?.payload);
  const respond = (approved: boolean) => {
    const words = reason.trim();
    const answer = words === "" ? { id, approved } : { id, approved, reason: words };
    onApproval(answer, approved ? payload : undefined);
  };
  return (
    // No form: Enter in the field for the reason must not approve.
    <div className="answer" role="group" aria-label="Approval">
      {confirmation?.hint && <p className="question">{confirmation.hint}</p>}
      {confirmation?.payload !== undefined && (
        <div className="fields">
          <Payload asked={confirmation.payload} now={payload} onChange={setPayload} />
        </div>
      )}
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

type PayloadProps = { asked: unknown; now: unknown; onChange: (payload: unknown) => void };

function Payload({ asked, now, onChange }: PayloadProps) {
  if (!isObject(asked)) return <Field name="payload" asked={asked} onChange={onChange} />;
  return Object.entries(asked).map(([key, value]) => (
    <Field key={key} name={key} asked={value} onChange={(given) => onChange({ ...(now as object), [key]: given })} />
  ));
}

type FieldProps = { name: string; asked: unknown; onChange: (value: unknown) => void };

/** One value, of the kind that the tool has put there. */
function Field({ name, asked, onChange }: FieldProps) {
  return (
    <label className="field">
      <span>{name.replaceAll("_", " ")}</span>
      {typeof asked === "boolean" ? (
        <input type="checkbox" defaultChecked={asked} onChange={(event) => onChange(event.target.checked)} />
      ) : (
        <input defaultValue={asText(asked)} onChange={(event) => onChange(asValue(event.target.value, asked))} />
      )}
    </label>
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asText(value: unknown): string {
  if (value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function asValue(text: string, asked: unknown): unknown {
  if (text === "" && asked === null) return null;
  return typeof asked === "string" || asked === null ? text : parsed(text);
}

/** What is typed, as JSON if it is JSON, else as text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
