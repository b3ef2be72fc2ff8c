import type { Confirmation } from "../chat/message-types";
import { Button } from "../ui/button";
import { Field, Input } from "../ui/field";
import { useDraft } from "./drafts";
import { JsonBox } from "./JsonBox";
import { Pending } from "./Pending";
import { SchemaField } from "./SchemaField";
import { isObject, schemaOf } from "./schema";

/** What the user decides, and the payload that the tool asked for. */
export type OnApproval = (answer: { id: string; approved: boolean; reason?: string }, payload?: unknown) => void;

type ApprovalProps = { id: string; confirmation: Confirmation | undefined; onApproval: OnApproval };

/** Approve or deny, with a reason; where the tool asks for a payload, with a field for each of its keys. */
export function Approval({ id, confirmation, onApproval }: ApprovalProps) {
  const [reason, setReason] = useDraft(`${id} reason`, () => "");
  const asked = confirmation?.payload;
  const [payload, setPayload] = useDraft(`${id} payload`, () => asked);
  const respond = (approved: boolean) => {
    const words = reason.trim();
    onApproval(words === "" ? { id, approved } : { id, approved, reason: words }, approved ? payload : undefined);
  };
  return (
    // Nothing is submitted: Enter in the field for the reason must not approve.
    <Pending label="Approval" question={confirmation?.hint}>
      {asked !== undefined && <Payload asked={asked} now={payload} onChange={setPayload} />}
      <Field label="Reason">
        <Input value={reason} onChange={(event) => setReason(event.target.value)} placeholder="Optional" />
      </Field>
      <div className="flex gap-2">
        <Button
          look="primary"
          onClick={(event) => event.currentTarget.form?.reportValidity() && respond(true)}
        >
          Approve
        </Button>
        <Button onClick={() => respond(false)}>Deny</Button>
      </div>
    </Pending>
  );
}

type PayloadProps = { asked: unknown; now: unknown; onChange: (payload: unknown) => void };

/** What the tool would like back: fields where it is flat, else JSON. What is emptied comes back as `null`. */
function Payload({ asked, now, onChange }: PayloadProps) {
  const schema = schemaOf(asked);
  if (schema === undefined) return <JsonBox label="Payload" required value={now} onChange={onChange} />;
  const nulled = (given: unknown) =>
    isObject(given)
      ? Object.fromEntries(Object.entries(given).map(([name, value]) => [name, value ?? null]))
      : (given ?? null);
  const label = isObject(asked) ? "" : "payload";
  return (
    <SchemaField
      label={label}
      schema={schema}
      defs={{}}
      required={false}
      value={now}
      onChange={(given) => onChange(nulled(given))}
    />
  );
}
