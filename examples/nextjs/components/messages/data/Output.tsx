import { Json } from "../../tools/Json";
import { Markdown } from "../Markdown";

/** The output of a workflow node. */
export function Output({ data }: { data: unknown }) {
  const { output } = data as { output: unknown };
  return typeof output === "string" ? <Markdown text={output} /> : <Json value={output} label="output" />;
}
