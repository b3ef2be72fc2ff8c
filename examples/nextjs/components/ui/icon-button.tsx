import { Button, type ButtonProps } from "./button";
import { Tooltip } from "./tooltip";

type IconButtonProps = ButtonProps & { label: string; keys?: string };

/** A button with only an icon. Screen readers get its label, and a tooltip shows it on hover and focus. */
export function IconButton({ label, keys, look = "ghost", size = "icon", ...rest }: IconButtonProps) {
  return (
    <Tooltip label={label} keys={keys}>
      <Button aria-label={label} look={look} size={size} {...rest} />
    </Tooltip>
  );
}
