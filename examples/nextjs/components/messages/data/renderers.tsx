import type { DataPart } from "../../chat/host";
import { APPROVAL, CITATIONS, CONFIRMATION, PROGRESS } from "../../chat/message-types";
import { later } from "../../ui/later";
import { Artifact, StoredFile } from "./Artifact";
import { Happened } from "./Happened";
import { Output } from "./Output";
import { Transfer } from "./Transfer";

/** What draws the parts of ADK, by their types. */
export const RENDERERS: Record<string, DataPart> = {
  "data-adk-agent": Transfer,
  "data-adk-artifact": Artifact,
  "data-adk-denial": Nothing, // its call's card says it
  "data-adk-file": StoredFile,
  "data-adk-output": Output,
  "data-adk-compaction": Happened,
  "data-adk-retry": Happened,
  "data-adk-search-suggestions": later(() => import("./SearchSuggestions")),
  [CITATIONS]: Nothing, // their text has them
  [APPROVAL]: Nothing,
  [CONFIRMATION]: Nothing,
  [PROGRESS]: Nothing,
};

function Nothing() {
  return null;
}
