import { getToolName } from "ai";
import { useHost } from "../chat/host";
import { Button } from "../ui/button";
import { Field, Input } from "../ui/field";
import { Credential, CREDENTIAL } from "./Credential";
import { useDraft } from "./drafts";
import { Pending } from "./Pending";
import { SchemaField } from "./SchemaField";
import { initial, isObject, kindOf, parsed, resolved, type Schema } from "./schema";
import type { Answers, ToolPart } from "./ToolCard";

/** What the page or the user says in the place of a tool. */
export type OnOutput = (
  answer: { tool: string; toolCallId: string } & ({ output: unknown } | { state: "output-error"; errorText: string }),
) => void;

/** The way to answer a call that waits for the browser: its own, a form by its schema, or a field for text or JSON. */
export function Answer({ part, onOutput }: { part: ToolPart; onOutput: Answers["onOutput"] }) {
  const { clientTools } = useHost();
  const tool = getToolName(part);
  const { toolCallId } = part;
  const send = (output: unknown) => onOutput({ tool, toolCallId, output });
  const fail = (errorText: string) => onOutput({ tool, toolCallId, state: "output-error", errorText });
  const input = isObject(part.input) ? part.input : {};
  if (tool === CREDENTIAL) return <Credential id={toolCallId} asked={input} onOutput={send} />;
  const ClientTool = Object.hasOwn(clientTools, tool) ? clientTools[tool] : undefined;
  if (ClientTool) return <ClientTool id={toolCallId} input={input} onOutput={send} onError={fail} />;
  const question = typeof input["message"] === "string" ? input["message"] : undefined;
  const schema = input["response_schema"];
  if (isObject(schema) && Object.keys(schema).length > 0) {
    return <Form id={toolCallId} question={question} schema={schema} onOutput={send} />;
  }
  return <TextOrJson id={toolCallId} question={question} onOutput={send} />;
}

type FormProps = { id: string; question: string | undefined; schema: Schema; onOutput: (output: unknown) => void };

/** A form with a control for each value that the schema names. */
function Form({ id, question, schema, onOutput }: FormProps) {
  const defs = schema.$defs ?? {};
  const [value, setValue] = useDraft(id, () => initial(schema, defs));
  const label = kindOf(resolved(schema, defs)) === "object" ? "" : "Your answer";
  return (
    <Pending label="Answer" question={question} onSubmit={() => onOutput(pruned(value))}>
      <SchemaField label={label} schema={schema} defs={defs} required value={value} onChange={setValue} />
      <Send />
    </Pending>
  );
}

/** Without the objects in which nothing was given. */
function pruned(value: unknown): unknown {
  if (!isObject(value)) return value;
  const given = Object.entries(value).filter(([, each]) => each !== undefined);
  return Object.fromEntries(
    given.flatMap(([name, each]) => {
      const inner = pruned(each);
      return isObject(inner) && Object.values(inner).every((leaf) => leaf === false) ? [] : [[name, inner]];
    }),
  );
}

function TextOrJson({ id, question, onOutput }: Omit<FormProps, "schema">) {
  const [typed, setTyped] = useDraft(id, () => "");
  return (
    <Pending label="Answer" question={question} onSubmit={() => onOutput(parsed(typed))}>
      <Field label="Your answer">
        <Input value={typed} onChange={({ target }) => setTyped(target.value)} placeholder="Text or JSON" required />
      </Field>
      <Send />
    </Pending>
  );
}

function Send() {
  return (
    <Button type="submit" look="primary" className="self-start">
      Answer
    </Button>
  );
}
