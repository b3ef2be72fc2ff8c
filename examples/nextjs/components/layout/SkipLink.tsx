import { Button } from "../ui/button";

/** Link to the message field. It is the first tab stop, and visible only while it has the focus. */
export function SkipLink() {
  return (
    <Button look="primary" className="fixed start-2 top-2 z-50 not-focus:sr-only" onClick={focusField}>
      Skip to the message field
    </Button>
  );
}

function focusField(): void {
  document.querySelector<HTMLElement>("main textarea[aria-label=Message]")?.focus();
}
