// Made by `adk-ui-stream types` from the agent: do not edit it.

import type { UIMessage } from "ai";

/** A message of the chat: `useChat<ChatMessage>(…)`. */
export type ChatMessage = UIMessage<ChatMetadata, ChatDataParts, ChatTools>;

/** A message with several versions. `POST /api/chat/{id}/branch` with `{"version": id}` chooses one of `ids`. */
export type MessageVersions = {
  messageId: string;
  /** The index of the version that the chat shows. */
  current: number;
  ids: string[];
};

/** What `GET /api/chat/{id}` returns. */
export type StoredChat = {
  messages: ChatMessage[];
  /** Absent if no message has several versions. */
  versions?: MessageVersions[];
  /** The ids of the assistant messages whose run was stopped before its end. Absent without any. */
  stopped?: string[];
};

/** The parts `data-…` of a message. */
export type ChatDataParts = {
  "adk-agent": AdkAgent;
  "adk-approval": AdkApproval;
  "adk-artifact": AdkArtifact;
  "adk-citations": AdkCitations;
  "adk-compaction": AdkCompaction;
  "adk-confirmation": AdkConfirmation;
  "adk-data": unknown;
  "adk-denial": AdkDenial;
  "adk-file": AdkFile;
  "adk-output": AdkOutput;
  "adk-progress": AdkProgress;
  "adk-retry": AdkRetry;
  "adk-search-suggestions": AdkSearchSuggestions;
  "adk-state": { [key: string]: unknown };
  "adk-steering": AdkSteering;
  "adk-ui-widget": AdkUiWidget;
  "shopping-list": ShoppingList;
};

/** The tools whose calls the client receives. */
export type ChatTools = {
  /** Puts an item on the shopping list. */
  add_item: {
    input: {
      item: string;
    };
    output: { [key: string]: string[] };
  };
  adk_request_credential: {
    input: RequestCredential;
    output: unknown;
  };
  adk_request_input: {
    input: RequestInput;
    output: unknown;
  };
  /** Takes everything off the shopping list. */
  clear_list: {
    input: { [key: string]: never };
    output: { [key: string]: string[] };
  };
  /** Tells the user's time zone. */
  get_time_zone: {
    input: { [key: string]: never };
    output: {
      timeZone: string;
    };
  };
  /** Tells what is on the shopping list. */
  show_list: {
    input: { [key: string]: never };
    output: { [key: string]: string[] };
  };
};

/** The agent that speaks from here on, and the one that handed over. */
export type AdkAgent = {
  agent: string;
  from?: string;
};

/** A tool's words about its approval, for clients whose `approval` has no `requestReason` and `descriptor`. */
export type AdkApproval = {
  toolCallId: string;
  reason?: string;
  descriptor?: unknown;
};

/** A version of an artifact that was saved, and where the page can load it. */
export type AdkArtifact = {
  filename: string;
  version: number;
  url?: string;
};

/** The citations of a text. `textIndex` counts the text parts of the message from 0. */
export type AdkCitations = {
  textIndex: number;
  citations: TextCitation[];
};

/** ADK has summarized events of this time for the model, in seconds since 1970. */
export type AdkCompaction = {
  startTimestamp: number;
  endTimestamp: number;
};

/** A tool's request for approval, with its hint and the payload that it expects back. */
export type AdkConfirmation = {
  toolCallId: string;
  hint?: string;
  payload?: unknown;
};

/** The result of a tool whose call was denied. */
export type AdkDenial = {
  toolCallId: string;
  output: unknown;
};

/** A file in a store that no browser can read, such as `gs://`. */
export type AdkFile = {
  uri: string;
  mediaType?: string;
  filename?: string;
};

/** The output of a workflow's node that is not part of any text. */
export type AdkOutput = {
  author?: string;
  node?: string;
  output: unknown;
};

/** The progress of a call: so much of the `total`, if that is known. */
export type AdkProgress = {
  toolCallId: string;
  progress: number;
  total?: number;
  message?: string;
};

/** A node whose attempt failed tries again. */
export type AdkRetry = {
  author: string;
  node: string;
};

/** Google's searches behind an answer. `renderedContent` is HTML of Google: show it in a frame without scripts. */
export type AdkSearchSuggestions = {
  webSearchQueries: string[];
  renderedContent?: string;
};

/** A message of the user that the agent took in here, while it worked. `parts` as in a user's message. */
export type AdkSteering = {
  id: string;
  parts: AdkSteeringPart[];
};

/** A text, or a file with its `mediaType` and `url`. */
export type AdkSteeringPart = {
  type: "text" | "file";
  text?: string;
  mediaType?: string;
  url?: string;
  filename?: string;
};

/** A widget that a tool rendered. */
export type AdkUiWidget = {
  id: string;
  provider: string;
  payload: { [key: string]: unknown };
};

/** The metadata of an answer: it comes at its end. */
export type ChatMetadata = {
  modelId?: string;
  usage?: TokenUsage;
};

/** A source of a text. `id` is the `sourceId` of its own part. */
export type CitedSource = {
  type: "source";
  sourceType: "url" | "document";
  id: string;
  url?: string;
  title?: string;
  mediaType?: string;
  filename?: string;
  providerMetadata?: { [key: string]: unknown };
};

/** Of the input tokens. */
export type InputTokenDetails = {
  cacheReadTokens: number;
};

/** Of the output tokens. */
export type OutputTokenDetails = {
  reasoningTokens: number;
};

/** Asks the user to sign in. `functionCallId` is the call that waits for it. */
export type RequestCredential = {
  functionCallId?: string;
  message?: string;
  schemeType?: string;
  scopes?: string[];
  authUri?: string;
  state?: string;
};

/** A question of the agent. The answer follows `response_schema`, a JSON schema; without one it is text. */
export type RequestInput = {
  message?: string | null;
  payload?: unknown;
  response_schema?: { [key: string]: unknown } | null;
};

/** The items to buy. */
export type ShoppingList = {
  items: string[];
};

/** A place in a text that rests on a source, and the words of the source. */
export type TextCitation = {
  source: CitedSource;
  startIndex: number;
  endIndex: number;
  citedText?: string;
};

/** Tokens of all model calls of the message. */
export type TokenUsage = {
  inputTokens: number;
  inputTokenDetails: InputTokenDetails;
  outputTokens: number;
  outputTokenDetails: OutputTokenDetails;
  totalTokens: number;
};
