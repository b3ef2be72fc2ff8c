import { Suspense, useState } from "react";
import { type DataPart, useHost } from "../../chat/host";
import { Json } from "../../tools/Json";
import { Boundary } from "../../ui/boundary";
import { Collapsible } from "../../ui/collapsible";
import { RENDERERS } from "./renderers";

/** A `data-*` part: drawn by what ADK's parts or the app have for its type, else folded JSON. */
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

function Unknown({ type, data }: { type: string; data: unknown }) {
  const [open, setOpen] = useState(false);
  return (
    <Collapsible
      open={open}
      onOpenChange={setOpen}
      className="text-sm"
      summary={<code className="text-xs text-muted-foreground">{type}</code>}
    >
      <Json value={data} label={type} />
    </Collapsible>
  );
}
