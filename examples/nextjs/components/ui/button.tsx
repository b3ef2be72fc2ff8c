import { Slot } from "radix-ui";
import type { ComponentProps } from "react";

const LOOKS = {
  primary: "bg-primary text-primary-foreground hover:bg-primary/90",
  outline: "border bg-card hover:bg-accent",
  ghost: "text-muted-foreground hover:bg-accent hover:text-foreground aria-pressed:bg-primary/10 aria-pressed:text-primary",
  danger: "bg-destructive text-background hover:bg-destructive/90",
};

const SIZES = {
  text: "h-9 rounded-lg px-3.5 text-sm",
  small: "h-8 rounded-lg px-2.5 text-[0.8125rem]",
  icon: "size-9 rounded-lg [&_svg]:size-4.5",
  "small icon": "size-7 rounded-lg [&_svg]:size-4",
  round: "size-9 rounded-full [&_svg]:size-4.5",
};

export type ButtonProps = ComponentProps<"button"> & {
  look?: keyof typeof LOOKS;
  size?: keyof typeof SIZES;
  /** Apply the button's style to its only child, such as a link. */
  asChild?: boolean;
};

export function Button({ look = "outline", size = "text", asChild, className = "", type, ...rest }: ButtonProps) {
  const Element = asChild ? Slot.Root : "button";
  return (
    <Element
      type={asChild ? undefined : (type ?? "button")}
      className={`inline-flex shrink-0 items-center justify-center gap-2 font-medium whitespace-nowrap transition-colors disabled:pointer-events-none disabled:opacity-40 ${LOOKS[look]} ${SIZES[size]} ${className}`}
      {...rest}
    />
  );
}
