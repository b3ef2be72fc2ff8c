import Link from "next/link";

/** Page for a URL that does not exist. */
export default function NotFound() {
  return (
    <main className="m-auto flex flex-col items-center gap-4 p-6 text-center">
      <h2 className="text-2xl font-semibold">This page doesn&apos;t exist.</h2>
      <Link href="/" prefetch={false} className="font-medium text-primary underline underline-offset-2">
        Start a new chat
      </Link>
    </main>
  );
}
