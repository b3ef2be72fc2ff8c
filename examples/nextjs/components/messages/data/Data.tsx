import { Braces } from "lucide-react";
import { Suspense, useState } from "react";
import { type DataPart, useHost } from "../../chat/host";
import { Fields } from "../../tools/Fields";
import { Json } from "../../tools/Json";
import { isFlat } from "../../tools/Output";
import { readableName } from "../../tools/readable-name";
import { isObject } from "../../tools/schema";
import { Boundary } from "../../ui/boundary";
import { Collapsible } from "../../ui/collapsible";
import { RENDERERS } from "./renderers";

/** A `data-*` part. Parts without a renderer of the app or of `renderers.tsx` are shown as collapsed JSON. */
export function Data({ type, data }: { type: string; data: unknown }) {
  const renderers: Record<string, DataPart> = { ...useHost().dataParts, ...RENDERERS };
  const Renderer = Object.hasOwn(renderers, type) ? renderers[type] : undefined;
  if (Renderer === undefined) return <Unknown type={type} data={data} />;
  return (
    <Boundary of={data} otherwise={<Unknown type={type} data={data} />}>
      <Suspense>
        <Renderer data={data as never} />
      </Suspense>
    </Boundary>
  );
}

/** Data without a renderer: its name, and its values as a table or JSON. */
function Unknown({ type, data }: { type: string; data: unknown }) {
  const [open, setOpen] = useState(false);
  const name = readableName(type.replace(/^data-/, ""));
  return (
    <section aria-label={`Data ${name}`} title={type} data-unknown={type} className="min-w-0 rounded-xl border bg-card text-sm">
      <Collapsible
        open={open}
        onOpenChange={setOpen}
        summaryClassName="w-full min-w-0 px-3.5 py-2.5 -outline-offset-2"
        summary={
          <>
            <Braces className="size-4 shrink-0 text-muted-foreground" aria-hidden />
            <bdi className="min-w-0 truncate font-medium">{name}</bdi>
            <bdi className="min-w-0 flex-1 truncate text-muted-foreground">{!open && glance(data)}</bdi>
          </>
        }
      >
        <div className="px-3.5 pb-3.5">{isFlat(data) ? <Fields value={data} label={name} /> : <Json value={data} label={name} />}</div>
      </Collapsible>
    </section>
  );
}

/** A short summary: the first plain values of the data. */
function glance(data: unknown): string {
  if (!isObject(data)) return typeof data === "string" ? data : JSON.stringify(data);
  const single = Object.values(data).filter((value) => ["string", "number"].includes(typeof value));
  return single.slice(0, 3).join(" · ");
}
