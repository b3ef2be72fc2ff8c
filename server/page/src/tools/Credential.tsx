import { getToolName, isToolUIPart } from "ai";
import { type FormEvent, useState } from "react";
import { Elsewhere } from "../messages/Elsewhere";
import { Fields, isObject, type Values } from "./Fields";
import type { ChatPart } from "../chat/message-types";

/** The tool under whose name ADK asks for a credential. */
export const CREDENTIAL = "adk_request_credential";

/** What the server takes, by the kind of scheme. */
const TAKEN: Record<string, Values> = {
  apiKey: { apiKey: "" },
  http: { username: "", password: "", token: "" },
  oauth2: { authResponseUri: "" },
  openIdConnect: { authResponseUri: "" },
};

type Asked = { schemeType?: string; authUri?: string; message?: string };

/** Signs in elsewhere, or gives a key. The server's answer puts `provided` in the place of what was given. */
export function Credential({ asked, onOutput }: { asked: Asked; onOutput: (output: Values) => void }) {
  const [values, setValues] = useState<Values>({});
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onOutput(Object.fromEntries(Object.entries(values).filter(([, value]) => value !== "")));
  };
  const link = /^https?:\/\//.test(asked.authUri ?? "") ? asked.authUri : undefined;
  return (
    <form className="answer" onSubmit={submit} aria-label="Credential">
      {asked.message && <p className="question">{asked.message}</p>}
      {link && (
        <p className="question">
          <Elsewhere url={link}>Sign in</Elsewhere>, then paste the address where that ends.
        </p>
      )}
      <Fields
        asked={TAKEN[asked.schemeType ?? "oauth2"] ?? {}}
        now={values}
        onChange={setValues}
        secret={(name) => name !== "username" && name !== "authResponseUri"}
      />
      <button type="submit" className="primary" disabled={!Object.values(values).some((value) => value !== "")}>
        Send
      </button>
    </form>
  );
}

/** The calls that wait for a credential that is asked for in the same message: nobody can answer these themselves. */
export function gatedByCredential(parts: ChatPart[]): Set<unknown> {
  const requests = parts.filter(isToolUIPart).filter((part) => getToolName(part) === CREDENTIAL);
  return new Set(requests.map(({ input }) => (isObject(input) ? input["functionCallId"] : undefined)));
}
