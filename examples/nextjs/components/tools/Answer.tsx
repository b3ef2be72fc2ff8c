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

/** Maximum number of choices that are shown as a row of buttons. */
const FEW = 5;

/** Send the output of a tool that the browser or the user answers. */
export type OnOutput = (
  answer: { tool: string; toolCallId: string } & ({ output: unknown } | { state: "output-error"; errorText: string }),
) => void;

/** Controls for a call that waits for an output: a client tool, a form by its schema, or a field for text or JSON. */
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

/** A form with a control for each value of the schema. */
function Form({ id, question, schema, onOutput }: FormProps) {
  const defs = schema.$defs ?? {};
  const [value, setValue] = useDraft(id, () => initial(schema, defs));
  const known = resolved(schema, defs);
  const choices = kindOf(known) === "choice" ? (known.enum ?? []) : [];
  if (choices.length > 0 && choices.length <= FEW) {
    return <Buttons question={question} choices={choices} onOutput={onOutput} />;
  }
  const label = kindOf(known) === "object" ? "" : "Your answer";
  return (
    <Pending label="Answer" question={question} onSubmit={() => onOutput(pruned(value))}>
      <SchemaField label={label} schema={schema} defs={defs} required value={value} onChange={setValue} />
      <Send />
    </Pending>
  );
}

type ButtonsProps = { question: string | undefined; choices: unknown[]; onOutput: (output: unknown) => void };

/** A button for each choice. A click sends the answer. */
function Buttons({ question, choices, onOutput }: ButtonsProps) {
  return (
    <Pending label="Answer" question={question}>
      <div className="flex flex-wrap gap-2">
        {choices.map((choice, index) => (
          <Button key={index} className="max-w-full whitespace-normal" onClick={() => onOutput(choice)}>
            <bdi>{String(choice)}</bdi>
          </Button>
        ))}
      </div>
    </Pending>
  );
}

/** Remove objects without values. */
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
