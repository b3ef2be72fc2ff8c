import { FileText } from "lucide-react";
import { Elsewhere } from "../Elsewhere";
import { FILE } from "../File";

/** An artifact that the agent saved. It is a link if the server has a route for artifacts. */
export function Artifact({ data }: { data: unknown }) {
  const { filename, url } = data as { filename: string; url?: string };
  return (
    <Elsewhere className={FILE} url={url} download={filename}>
      <FileText className="size-4 shrink-0" aria-hidden />
      <bdi className="truncate">{filename}</bdi>
    </Elsewhere>
  );
}

/** A file in a store that browsers cannot read, such as `gs://`. */
export function StoredFile({ data }: { data: unknown }) {
  const { uri, filename } = data as { uri: string; filename?: string };
  return (
    <p className={`${FILE} self-start`} title={uri}>
      <FileText className="size-4 shrink-0" aria-hidden />
      <bdi className="truncate">{filename ?? uri}</bdi>
    </p>
  );
}
