import type { ComponentProps, ReactNode } from "react";

const BOX = "min-w-0 rounded-lg border bg-background px-3 text-sm placeholder:text-muted-foreground disabled:opacity-50";

/** A control with its label above it. */
export function Field({ label, children }: { label: string; children: ReactNode }) {
  return (
    <label className="flex min-w-0 flex-col gap-1 text-sm">
      <span className="text-muted-foreground">{label}</span>
      {children}
    </label>
  );
}

export function Input({ className = "", ...rest }: ComponentProps<"input">) {
  return <input dir="auto" className={`h-9 ${BOX} ${className}`} {...rest} />;
}

export function Textarea({ className = "", ...rest }: ComponentProps<"textarea">) {
  return <textarea dir="auto" className={`field-sizing-content py-2 ${BOX} ${className}`} {...rest} />;
}

export function Select({ className = "", ...rest }: ComponentProps<"select">) {
  return <select className={`h-9 ${BOX} ${className}`} {...rest} />;
}

export function Checkbox({ className = "", ...rest }: Omit<ComponentProps<"input">, "type">) {
  return <input type="checkbox" className={`size-4 accent-primary ${className}`} {...rest} />;
}
