import type { Entry } from "./entries";
import { refusal } from "../components/chat/chat-api";
import type { ChatMessage } from "../components/chat/message-types";

export type Finding = {
  severity: "error" | "warning";
  rule: string;
  effect: string;
  text: string;
  /** Which chunk of the stream, counted from 1. */
  chunk: number;
  /** Of a file. */
  line?: number;
  versions: number[];
  /** The number of the entry that it is about, if that is shown. */
  number?: number;
};

export type Findings = { findings: Finding[]; unchecked?: number };

/** A recording or a capture that was opened here: what the server made of it, and the file to ask again with. */
export type OpenedFile = {
  name: string;
  file: File;
  session: string;
  entries: Entry[];
  messages: ChatMessage[];
  findings: Finding[];
  /** It has ADK events, of which a recording can be made. */
  recordable: boolean;
};

/** Where what is inspected comes from: a chat's id, or a file. */
export type Source = { id: string } | OpenedFile;

async function ask(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch(() => undefined);
  if (response === undefined) throw new Error("The server does not answer.");
  if (!response.ok) throw await refusal(response);
  return response;
}

const ofChat = (id: string) => `api/chat/${encodeURIComponent(id)}/inspect`;

/** What has happened in the chat since the entry with this number. */
export async function loadEntries(id: string, after: number, signal: AbortSignal): Promise<{ entries: Entry[]; next: number }> {
  return (await ask(`${ofChat(id)}?after=${after}`, { signal })).json();
}

export async function loadFindings(id: string): Promise<Findings> {
  return (await ask(`${ofChat(id)}/findings`)).json();
}

export type Rule = { name: string; severity: Finding["severity"]; requirement: string; effect: string };

/** The rules of `check`. */
export async function loadRules(): Promise<Rule[]> {
  return (await ask("api/inspect/rules")).json();
}

/** An agent, and those below it. */
export type InspectedAgent = {
  name: string;
  type: string;
  model: string;
  description: string;
  tools: string[];
  agents: InspectedAgent[];
};

/** The tree of agents; `null` for recordings, which do not tell it. */
export async function loadAgents(): Promise<InspectedAgent | null> {
  return (await ask("api/inspect/agents")).json();
}

/** Has the server convert a file. `session` chooses one of several in it; "" for the only one. */
export async function openFile(file: File, session: string): Promise<OpenedFile> {
  const shown = await (await post("", file, session)).json();
  return { name: file.name, file, session, ...shown };
}

/** The recording of it, without secrets, and the name of its file. */
export async function loadRecording(source: Source): Promise<{ name: string; content: Blob }> {
  const response = await ("file" in source ? post("/recording", source.file, source.session) : ask(`${ofChat(source.id)}/recording`));
  const name = response.headers.get("content-disposition")?.match(/filename="([^"]+)"/)?.[1];
  return { name: name ?? "chat.jsonl", content: await response.blob() };
}

/** A test of that recording. */
export async function loadTest(source: Source): Promise<string> {
  return (await ("file" in source ? post("/pytest", source.file, source.session) : ask(`${ofChat(source.id)}/pytest`))).text();
}

function post(what: string, file: File, session: string): Promise<Response> {
  const query = session === "" ? "" : `?session=${encodeURIComponent(session)}`;
  return ask(`api/inspect${what}${query}`, { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
}
