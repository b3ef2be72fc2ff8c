import { Note } from "./Transfer";

/** ADK has summarized the chat for the model, or a node tries again. */
export function Happened({ data }: { data: unknown }) {
  const { author } = data as { author?: string };
  if (author === undefined) return <Note>Earlier messages were summarized for the model</Note>;
  return (
    <Note>
      <bdi>{author}</bdi> failed, and tries again
    </Note>
  );
}
