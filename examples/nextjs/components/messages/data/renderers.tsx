import type { DataPart } from "../../chat/host";
import { APPROVAL, CITATIONS, CONFIRMATION, PROGRESS } from "../../chat/message-types";
import { later } from "../../ui/later";
import { Artifact, StoredFile } from "./Artifact";
import { Happened } from "./Happened";
import { Output } from "./Output";
import { Transfer } from "./Transfer";

/** The components for ADK's data parts, by part type. */
export const RENDERERS: Record<string, DataPart> = {
  "data-adk-agent": Transfer,
  "data-adk-artifact": Artifact,
  "data-adk-denial": Nothing, // shown in the card of its call
  "data-adk-file": StoredFile,
  "data-adk-output": Output,
  "data-adk-compaction": Happened,
  "data-adk-retry": Happened,
  "data-adk-search-suggestions": later(() => import("./SearchSuggestions")),
  [CITATIONS]: Nothing, // shown in the cited text
  [APPROVAL]: Nothing,
  [CONFIRMATION]: Nothing,
  [PROGRESS]: Nothing,
};

function Nothing() {
  return null;
}
