import { getToolName, isToolUIPart } from "ai";
import type { ChatPart } from "../chat/message-types";
import { Elsewhere } from "../messages/Elsewhere";
import { Button } from "../ui/button";
import { Field, Input } from "../ui/field";
import { useDraft } from "./drafts";
import { Pending } from "./Pending";
import { isObject, type Values } from "./schema";
import type { ToolPart } from "./ToolCard";

/** The tool with which ADK asks for a credential. */
export const CREDENTIAL = "adk_request_credential";

/** The credential that the server expects, by type of auth scheme. */
const TAKEN: Record<string, string[]> = {
  apiKey: ["apiKey"],
  http: ["username", "password", "token"],
  oauth2: ["authResponseUri"],
  openIdConnect: ["authResponseUri"],
};

const LABELS: Record<string, string> = {
  apiKey: "API key",
  username: "User name",
  password: "Password",
  token: "Token",
  authResponseUri: "Address where the sign-in ended",
};

const PLAIN = ["username", "authResponseUri"];

type Asked = { schemeType?: string; authUri?: string; message?: string };

/** Form to sign in at a provider, or to enter a key. The server's response replaces the credential with `provided`. */
export function Credential({ id, asked, onOutput }: { id: string; asked: Asked; onOutput: (output: Values) => void }) {
  const [values, setValues] = useDraft<Record<string, string>>(id, () => ({}));
  const given = Object.entries(values).filter(([, value]) => value !== "");
  const link = /^https?:\/\//.test(asked.authUri ?? "") ? asked.authUri : undefined;
  return (
    <Pending label="Credential" question={asked.message ?? "The agent needs you to sign in."} onSubmit={() => onOutput(Object.fromEntries(given))}>
      {link && (
        <p>
          <Elsewhere className="font-medium text-primary underline underline-offset-2" url={link}>
            Sign in
          </Elsewhere>
          , then paste the address where that ends.
        </p>
      )}
      {(TAKEN[asked.schemeType ?? "oauth2"] ?? []).map((name) => (
        <Field key={name} label={LABELS[name] ?? name}>
          <Input
            type={PLAIN.includes(name) ? "text" : "password"}
            autoComplete="off"
            value={values[name] ?? ""}
            onChange={({ target }) => setValues({ ...values, [name]: target.value })}
          />
        </Field>
      ))}
      <Button type="submit" look="primary" className="self-start" disabled={given.length === 0}>
        Send
      </Button>
    </Pending>
  );
}

/** The credential requests of calls in the same message, each with the id of its call. The call's card shows the last one. */
export function credentialRequests(parts: ChatPart[]): [string, ToolPart][] {
  const calls = parts.filter(isToolUIPart);
  const ids = new Set<unknown>(calls.map(({ toolCallId }) => toolCallId));
  const requests = calls.filter((part) => getToolName(part) === CREDENTIAL);
  const idOf = ({ input }: ToolPart) => (isObject(input) ? input["functionCallId"] : undefined);
  return requests.filter((request) => ids.has(idOf(request))).map((request) => [String(idOf(request)), request]);
}
