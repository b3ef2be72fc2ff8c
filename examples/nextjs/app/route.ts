import { redirect } from "next/navigation";
import { connection } from "next/server";

/** Redirects to a new chat. The URL has its id, so a reload finds it. `?new`: the server does not have the chat yet. */
export async function GET(): Promise<never> {
  await connection(); // generate the random id at request time, not at build time
  redirect(`/chat/${crypto.randomUUID()}?new`);
}
