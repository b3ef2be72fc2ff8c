import { AlertDialog } from "radix-ui";
import { Button } from "./button";
import { BACKDROP } from "./dialog";

type ConfirmProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  title: string;
  text: string;
  /** Label of the button that confirms. */
  action: string;
  onConfirm: () => void;
};

/** Dialog to confirm an action that cannot be undone. */
export function Confirm({ open, onOpenChange, title, text, action, onConfirm }: ConfirmProps) {
  return (
    <AlertDialog.Root open={open} onOpenChange={onOpenChange}>
      <AlertDialog.Portal>
        <AlertDialog.Overlay className={BACKDROP} />
        <AlertDialog.Content className="fixed inset-x-0 top-[30vh] z-40 mx-auto w-[min(26rem,calc(100vw-2rem))] rounded-2xl border bg-popover p-5 shadow-xl">
          <AlertDialog.Title className="font-semibold">{title}</AlertDialog.Title>
          <AlertDialog.Description className="mt-2 text-sm text-muted-foreground wrap-anywhere">{text}</AlertDialog.Description>
          <div className="mt-5 flex justify-end gap-2">
            <AlertDialog.Cancel asChild>
              <Button>Cancel</Button>
            </AlertDialog.Cancel>
            <AlertDialog.Action asChild>
              <Button look="danger" onClick={onConfirm}>
                {action}
              </Button>
            </AlertDialog.Action>
          </div>
        </AlertDialog.Content>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
