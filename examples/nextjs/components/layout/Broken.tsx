import { Button } from "../ui/button";

/** Page for a rendering error. */
export function Broken() {
  return (
    <main className="grid min-h-dvh place-content-center justify-items-center gap-4 p-6 text-center">
      <p role="alert">{"The page can't be shown because of an error."}</p>
      <Button look="primary" onClick={() => window.location.reload()}>
        Reload
      </Button>
    </main>
  );
}
