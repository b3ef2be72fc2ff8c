import { FileText } from "lucide-react";
import { Elsewhere } from "../Elsewhere";
import { FILE } from "../File";

/** A file that the agent has stored; a link where the server has a route for it. */
export function Artifact({ data }: { data: unknown }) {
  const { filename, url } = data as { filename: string; url?: string };
  return (
    <Elsewhere className={FILE} url={url} download={filename}>
      <FileText className="size-4 shrink-0" aria-hidden />
      <bdi className="truncate">{filename}</bdi>
    </Elsewhere>
  );
}

/** A file in a store that no browser can read: `gs://`. */
export function StoredFile({ data }: { data: unknown }) {
  const { uri, filename } = data as { uri: string; filename?: string };
  return (
    <p className={`${FILE} self-start`} title={uri}>
      <FileText className="size-4 shrink-0" aria-hidden />
      <bdi className="truncate">{filename ?? uri}</bdi>
    </p>
  );
}
