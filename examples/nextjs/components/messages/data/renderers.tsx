import type { DataPart } from "../../chat/host";
import { APPROVAL, CONFIRMATION, PROGRESS } from "../../chat/message-types";
import { Artifact, StoredFile } from "./Artifact";
import { Output } from "./Output";
import { Transfer } from "./Transfer";

/** What draws the parts of ADK, by their types. */
export const RENDERERS: Record<string, DataPart> = {
  "data-adk-agent": Transfer,
  "data-adk-artifact": Artifact,
  "data-adk-denial": Nothing, // its call's card says it
  "data-adk-file": StoredFile,
  "data-adk-output": Output,
  [APPROVAL]: Nothing,
  [CONFIRMATION]: Nothing,
  [PROGRESS]: Nothing,
};

function Nothing() {
  return null;
}
