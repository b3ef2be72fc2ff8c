import { type ComponentProps, type FormEvent, type ReactNode, useId, useState } from "react";

const BOX = "min-w-0 rounded-lg border bg-background px-3 text-sm placeholder:text-muted-foreground disabled:opacity-50 aria-invalid:border-destructive";

/** A control with a label above it, and its validation error below it. */
export function Field({ label, children }: { label: string; children: ReactNode }) {
  const [fault, watch] = useFault();
  return (
    <div className="flex min-w-0 flex-col gap-1 text-sm" {...watch}>
      <label className="flex min-w-0 flex-col gap-1">
        <span className="text-muted-foreground">{label}</span>
        {children}
      </label>
      {fault}
    </div>
  );
}

type Fault = { text: string; control: HTMLInputElement };

/**
 * The browser's validation error of the controls in an element, and the event handlers for that element. The invalid
 * control is marked, and the error describes it.
 */
export function useFault(): [ReactNode, { onInvalidCapture: (event: FormEvent) => void; onInput: () => void }] {
  const [found, setFound] = useState<Fault>();
  const id = useId();
  const clear = () => {
    if (!found) return;
    found.control.removeAttribute("aria-invalid");
    found.control.removeAttribute("aria-errormessage");
    setFound(undefined);
  };
  const onInvalidCapture = (event: FormEvent) => {
    event.preventDefault(); // hide the browser's own error bubble
    const control = event.target as HTMLInputElement;
    control.setAttribute("aria-invalid", "true");
    control.setAttribute("aria-errormessage", id);
    setFound({ text: control.validationMessage, control });
    if (firstInvalid(control.form) === control) control.focus();
  };
  const fault = found && (
    <p id={id} role="alert" className="text-xs text-destructive">
      {found.text}
    </p>
  );
  return [fault, { onInvalidCapture, onInput: clear }];
}

function firstInvalid(form: HTMLFormElement | null): Element | undefined {
  return [...(form?.elements ?? [])].find((each) => each.matches(":is(input, select, textarea):invalid"));
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
