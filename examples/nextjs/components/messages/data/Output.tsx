import { Json } from "../../tools/Json";
import { Markdown } from "../Markdown";

/** What a node of a workflow has as its result. */
export function Output({ data }: { data: unknown }) {
  const { output } = data as { output: unknown };
  return typeof output === "string" ? <Markdown text={output} /> : <Json value={output} label="output" />;
}
