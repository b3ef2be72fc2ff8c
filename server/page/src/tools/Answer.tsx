import { getToolName } from "ai";
import { useState } from "react";
import { Button } from "../ui/button";
import { Field, Input } from "../ui/field";
import { ClientTool, isClientTool } from "./ClientTool";
import { Credential, CREDENTIAL } from "./Credential";
import { Pending } from "./Pending";
import { SchemaField } from "./SchemaField";
import { initial, isObject, kindOf, parsed, resolved, type Schema } from "./schema";
import type { Answers, ToolPart } from "./ToolCard";

/** The way to answer a call that waits for the browser: its own, a form by its schema, or a field for text or JSON. */
export function Answer({ part, onOutput }: { part: ToolPart; onOutput: Answers["onOutput"] }) {
  const tool = getToolName(part);
  const { toolCallId } = part;
  const send = (output: unknown) => void onOutput({ tool, toolCallId, output });
  const fail = (errorText: string) => void onOutput({ tool, toolCallId, state: "output-error", errorText });
  const input = isObject(part.input) ? part.input : {};
  if (tool === CREDENTIAL) return <Credential asked={input} onOutput={send} />;
  if (isClientTool(tool)) return <ClientTool tool={tool} input={input} onOutput={send} onError={fail} />;
  const question = typeof input["message"] === "string" ? input["message"] : undefined;
  const schema = input["response_schema"];
  if (isObject(schema) && Object.keys(schema).length > 0) {
    return <Form question={question} schema={schema} onOutput={send} />;
  }
  return <TextOrJson question={question} onOutput={send} />;
}

type FormProps = { question: string | undefined; schema: Schema; onOutput: (output: unknown) => void };

/** A form with a control for each value that the schema names. */
function Form({ question, schema, onOutput }: FormProps) {
  const defs = schema.$defs ?? {};
  const [value, setValue] = useState(() => initial(schema, defs));
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

function TextOrJson({ question, onOutput }: Omit<FormProps, "schema">) {
  const [typed, setTyped] = useState("");
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
