import { type FormEvent, useState } from "react";
import { CREDENTIAL, isObject, type ToolPart, type Values } from "@/lib/chat-message";
import { useAnswers } from "./answers";
import { Button } from "./button";
import { Fields } from "./fields";

/** What the server takes, by the kind of scheme. */
const TAKEN: Record<string, Values> = {
  apiKey: { apiKey: "" },
  http: { username: "", password: "", token: "" },
  oauth2: { authResponseUri: "" },
  openIdConnect: { authResponseUri: "" },
};

/** Signs in elsewhere, or gives a key. What is given is stored nowhere in the chat. */
export function Credential({ part }: { part: ToolPart }) {
  const { addToolOutput } = useAnswers();
  const [values, setValues] = useState<Values>({});
  const { schemeType, authUri, message } = isObject(part.input) ? part.input : {};
  const asked = TAKEN[String(schemeType)] ?? { authResponseUri: "" };
  const given = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void addToolOutput({ tool: CREDENTIAL, toolCallId: part.toolCallId, output: given });
  };
  return (
    <form onSubmit={submit} aria-label="Credential" className="space-y-3 border-t p-3">
      {typeof message === "string" && <p>{message}</p>}
      {typeof authUri === "string" && /^https?:\/\//.test(authUri) && (
        <p>
          <a href={authUri} target="_blank" rel="noreferrer" className="text-primary underline">
            Sign in
          </a>
          , then paste the address where that ends.
        </p>
      )}
      <Fields asked={asked} values={values} onChange={setValues} secret={!("authResponseUri" in asked)} />
      <Button type="submit" look="primary" disabled={Object.keys(given).length === 0}>
        Send
      </Button>
    </form>
  );
}
