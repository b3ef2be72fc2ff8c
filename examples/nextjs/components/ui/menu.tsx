import { Check } from "lucide-react";
import { DropdownMenu } from "radix-ui";
import type { ComponentProps, ReactNode } from "react";

const ITEM =
  "flex items-center gap-2.5 rounded-md px-2.5 py-1.5 outline-none data-highlighted:bg-accent [&_svg]:size-4 [&_svg]:shrink-0";

type MenuProps = {
  /** The element that opens the menu. */
  trigger: ReactNode;
  onCloseAutoFocus?: (event: Event) => void;
  children: ReactNode;
};

export function Menu({ trigger, onCloseAutoFocus, children }: MenuProps) {
  return (
    <DropdownMenu.Root>
      <DropdownMenu.Trigger asChild>{trigger}</DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content
          align="end"
          sideOffset={4}
          collisionPadding={8}
          onCloseAutoFocus={onCloseAutoFocus}
          className="z-50 min-w-40 rounded-xl border bg-popover p-1 text-sm shadow-lg"
        >
          {children}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

export function MenuItem({ className = "", ...rest }: ComponentProps<typeof DropdownMenu.Item>) {
  return <DropdownMenu.Item className={`${ITEM} ${className}`} {...rest} />;
}

type MenuChoiceProps<Value extends string> = {
  label: string;
  value: Value;
  choices: Record<Value, string>;
  onChoose: (value: Value) => void;
};

/** A group of radio items under a heading. */
export function MenuChoice<Value extends string>({ label, value, choices, onChoose }: MenuChoiceProps<Value>) {
  return (
    <DropdownMenu.RadioGroup value={value} onValueChange={(chosen) => onChoose(chosen as Value)} aria-label={label}>
      <DropdownMenu.Label className="px-2.5 py-1 text-xs text-muted-foreground">{label}</DropdownMenu.Label>
      {Object.entries<string>(choices).map(([choice, name]) => (
        <DropdownMenu.RadioItem key={choice} value={choice} className={ITEM}>
          <span className="size-4">
            <DropdownMenu.ItemIndicator>
              <Check />
            </DropdownMenu.ItemIndicator>
          </span>
          {name}
        </DropdownMenu.RadioItem>
      ))}
    </DropdownMenu.RadioGroup>
  );
}

export function MenuLine() {
  return <DropdownMenu.Separator className="my-1 h-px bg-border" />;
}
