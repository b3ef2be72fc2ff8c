import { Note } from "./Transfer";

/** A note that ADK summarized the chat for the model, or that a workflow node runs again. */
export function Happened({ data }: { data: unknown }) {
  const { author } = data as { author?: string };
  if (author === undefined) return <Note>Earlier messages were summarized for the model</Note>;
  return (
    <Note>
      <bdi>{author}</bdi> failed, and tries again
    </Note>
  );
}
