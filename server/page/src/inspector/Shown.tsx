import { Copy } from "lucide-react";
import { useMemo } from "react";
import { JsonTree } from "../components/tools/JsonTree";
import { IconButton } from "../components/ui/icon-button";

/** The most characters of one text in JSON: a picture has a million of them. */
const LONGEST = 4000;

/** Lines of JSON above which inner values are folded at first. */
const MANY_LINES = 200;

/** A value as JSON that folds, or a text as it is. Copied whole. */
export function Shown({ value, label, openTo = 1 }: { value: unknown; label: string; openTo?: number }) {
  const drawn = useMemo(() => (typeof value === "string" ? value : JSON.parse(JSON.stringify(value, shortened))), [value]);
  const copy = () => navigator.clipboard?.writeText(typeof value === "string" ? value : JSON.stringify(value, null, 2));
  return (
    <div className="relative min-w-0">
      <pre
        tabIndex={0}
        role="region"
        aria-label={label}
        className="overflow-auto rounded-lg border bg-muted p-3 pe-10 font-mono text-xs leading-relaxed whitespace-pre-wrap wrap-anywhere"
      >
        {typeof drawn === "string" ? drawn : <JsonTree value={drawn} manyLines={MANY_LINES} openTo={openTo} />}
      </pre>
      <span className="absolute end-1 top-1">
        <IconButton label={`Copy ${label}`} size="small icon" onClick={() => void copy()}>
          <Copy />
        </IconButton>
      </span>
    </div>
  );
}

function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== "string" || value.length <= LONGEST) return value;
  return `${value.slice(0, LONGEST)}… and ${value.length - LONGEST} characters more`;
}
