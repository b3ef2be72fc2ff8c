import type { ComponentType } from "react";
import { CONFIRMATION } from "../../chat/message-types";
import { Artifact, StoredFile } from "./Artifact";
import { Forecast } from "./Forecast";
import { Output } from "./Output";
import { Transfer } from "./Transfer";

/** What draws a `data-*` part, by its type. Parts of your own, of `emit_data`, get a line here. */
export const RENDERERS: Record<string, ComponentType<{ data: unknown }>> = {
  "data-adk-agent": Transfer,
  "data-adk-artifact": Artifact,
  "data-adk-denial": Nothing, // its call's card says it
  "data-adk-file": StoredFile,
  "data-adk-output": Output,
  "data-weather": Forecast,
  [CONFIRMATION]: Nothing,
};

function Nothing() {
  return null;
}
