import type { DataPart } from "../../chat/host";
import { lazy } from "react";
import { CITATIONS, CONFIRMATION } from "../../chat/message-types";
import { Artifact, StoredFile } from "./Artifact";
import { Output } from "./Output";
import { Note, Transfer } from "./Transfer";

/** What draws the parts of ADK, by their types. */
export const RENDERERS: Record<string, DataPart> = {
  "data-adk-agent": Transfer,
  "data-adk-artifact": Artifact,
  "data-adk-denial": Nothing, // its call's card says it
  "data-adk-file": StoredFile,
  "data-adk-output": Output,
  "data-adk-compaction": () => <Note>Earlier messages were summarized for the model</Note>,
  "data-adk-retry": ({ data }) => <Note>{(data as { author: string }).author} failed, and tries again</Note>,
  "data-adk-search-suggestions": lazy(() => import("./SearchSuggestions")),
  [CITATIONS]: Nothing, // their text has them
  [CONFIRMATION]: Nothing,
};

function Nothing() {
  return null;
}
