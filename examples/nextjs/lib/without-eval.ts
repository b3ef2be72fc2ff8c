import { config } from "zod/v4/core";

/** Keeps zod, which `ai` uses, from `new Function`: the policy of `proxy.ts` forbids it. Import this first. */
config({ jitless: true });
