import { redirect } from "next/navigation";
import { connection } from "next/server";

/** A new chat. Its id is in the address, so that a reload and a second tab find it. `?new`: no server has it yet. */
export async function GET(): Promise<never> {
  await connection(); // a random id is not made at build time
  redirect(`/chat/${crypto.randomUUID()}?new`);
}
