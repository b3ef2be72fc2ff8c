import type { Entry } from "./entries";
import { refusal } from "../components/chat/chat-api";
import type { ChatMessage } from "../components/chat/message-types";

export type Finding = {
  severity: "error" | "warning";
  rule: string;
  effect: string;
  text: string;
  /** Number of the chunk in the stream, from 1. */
  chunk: number;
  /** Line in the file. */
  line?: number;
  versions: number[];
  /** Number of the entry with the problem. Absent if the entry is not shown. */
  number?: number;
};

export type Findings = { findings: Finding[]; unchecked?: number };

/** An opened recording or captured response, with the server's conversion. `file` is sent again to save a recording. */
export type OpenedFile = {
  name: string;
  file: File;
  session: string;
  entries: Entry[];
  messages: ChatMessage[];
  findings: Finding[];
  /** The file has ADK events, so the server can write a recording. */
  recordable: boolean;
};

/** The inspected chat or file. */
export type Source = { id: string } | OpenedFile;

async function ask(path: string, init?: RequestInit): Promise<Response> {
  const response = await fetch(path, init).catch(() => undefined);
  if (response === undefined) throw new Error("The server does not answer.");
  if (!response.ok) throw await refusal(response);
  return response;
}

const ofChat = (id: string) => `api/chat/${encodeURIComponent(id)}/inspect`;

/** Load the entries of the chat after the entry with this number. */
export async function loadEntries(id: string, after: number, signal: AbortSignal): Promise<{ entries: Entry[]; next: number }> {
  return (await ask(`${ofChat(id)}?after=${after}`, { signal })).json();
}

export async function loadFindings(id: string): Promise<Findings> {
  return (await ask(`${ofChat(id)}/findings`)).json();
}

export type Rule = { name: string; severity: Finding["severity"]; requirement: string; effect: string };

/** Load the rules of `check`. */
export async function loadRules(): Promise<Rule[]> {
  return (await ask("api/inspect/rules")).json();
}

/** An agent and its sub-agents. */
export type InspectedAgent = {
  name: string;
  type: string;
  model: string;
  description: string;
  tools: string[];
  agents: InspectedAgent[];
};

/** Load the tree of agents. `null` for recordings, which do not contain it. */
export async function loadAgents(): Promise<InspectedAgent | null> {
  return (await ask("api/inspect/agents")).json();
}

/** Let the server convert a file. `session`: id of the session in the file, or "" if the file has only one. */
export async function openFile(file: File, session: string): Promise<OpenedFile> {
  const shown = await (await post("", file, session)).json();
  return { name: file.name, file, session, ...shown };
}

/** Load the recording without secrets, and its file name. */
export async function loadRecording(source: Source): Promise<{ name: string; content: Blob }> {
  const response = await ("file" in source ? post("/recording", source.file, source.session) : ask(`${ofChat(source.id)}/recording`));
  const name = response.headers.get("content-disposition")?.match(/filename="([^"]+)"/)?.[1];
  return { name: name ?? "chat.jsonl", content: await response.blob() };
}

/** Load a test of the recording. */
export async function loadTest(source: Source): Promise<string> {
  return (await ("file" in source ? post("/pytest", source.file, source.session) : ask(`${ofChat(source.id)}/pytest`))).text();
}

function post(what: string, file: File, session: string): Promise<Response> {
  const query = session === "" ? "" : `?session=${encodeURIComponent(session)}`;
  return ask(`api/inspect${what}${query}`, { method: "POST", body: file, headers: { "content-type": "application/octet-stream" } });
}
