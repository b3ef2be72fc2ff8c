import type { Confirmation } from "../chat/message-types";
import { Button } from "../ui/button";
import { Field, Input } from "../ui/field";
import { useDraft } from "./drafts";
import { Fields } from "./Fields";
import { Pending } from "./Pending";
import { readableName } from "./readable-name";
import { SchemaField } from "./SchemaField";
import { isObject, schemaOf } from "./schema";

/** The user's decision, with the payload that the tool asked for. */
export type OnApproval = (answer: { id: string; approved: boolean; reason?: string }, payload?: unknown) => void;

type ApprovalProps = {
  id: string;
  agent: string | undefined;
  tool: string;
  /** The arguments of the call. */
  input: unknown;
  confirmation: Confirmation | undefined;
  /** The reason that the tool declares for its approval. */
  reason: string | undefined;
  onApproval: OnApproval;
};

/** Form to approve a call, or deny it with a reason. It shows the agent, the tool and the arguments. */
export function Approval({ id, agent, tool, input, confirmation, reason: why, onApproval }: ApprovalProps) {
  const [denying, setDenying] = useDraft(`${id} denying`, () => false);
  const [reason, setReason] = useDraft(`${id} reason`, () => "");
  const asked = confirmation?.payload;
  const [payload, setPayload] = useDraft(`${id} payload`, () => asked);
  const approve = () => onApproval({ id, approved: true }, payload);
  const deny = () => {
    const text = reason.trim();
    onApproval(text === "" ? { id, approved: false } : { id, approved: false, reason: text });
  };
  return (
    // Enter in the reason field denies the call. Only the Approve button approves it.
    <Pending label="Approval" question={confirmation?.hint ?? why} onSubmit={() => denying && deny()}>
      <p className="-order-1">
        <bdi className="font-semibold">{agent === undefined ? "The agent" : readableName(agent)}</bdi> wants to run <bdi className="font-semibold">{tool}</bdi>.
      </p>
      {confirmation?.hint !== undefined && why !== undefined && (
        <p dir="auto" className="whitespace-pre-wrap text-muted-foreground wrap-anywhere">
          {why}
        </p>
      )}
      <Fields value={input} />
      {denying ? (
        <>
          <Field label="Reason">
            <Input autoFocus value={reason} onChange={(event) => setReason(event.target.value)} placeholder="Optional" />
          </Field>
          <div className="flex gap-2">
            <Button type="submit" look="danger">
              Deny
            </Button>
            <Button look="ghost" onClick={() => setDenying(false)}>
              Back
            </Button>
          </div>
        </>
      ) : (
        <>
          {asked !== undefined && <Payload asked={asked} now={payload} onChange={setPayload} />}
          <div className="flex gap-2">
            <Button look="primary" onClick={(event) => event.currentTarget.form?.reportValidity() && approve()}>
              Approve
            </Button>
            <Button onClick={() => setDenying(true)}>Deny…</Button>
          </div>
        </>
      )}
    </Pending>
  );
}

type PayloadProps = { asked: unknown; now: unknown; onChange: (payload: unknown) => void };

/** Fields for the payload that the tool expects. An emptied field is sent as `null`. */
function Payload({ asked, now, onChange }: PayloadProps) {
  return (
    <SchemaField
      label={isObject(asked) ? "" : "Payload"}
      schema={schemaOf(asked)}
      defs={{}}
      required={false}
      value={now}
      onChange={(given) => onChange(nulled(given))}
    />
  );
}

function nulled(given: unknown): unknown {
  if (Array.isArray(given)) return given.map(nulled);
  if (isObject(given)) return Object.fromEntries(Object.entries(given).map(([name, value]) => [name, nulled(value)]));
  return given ?? null;
}
