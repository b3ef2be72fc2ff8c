import { config } from "zod/v4/core";

/** Zod would try `new Function` when the first schema is made, and the page's policy forbids it. Import this first. */
config({ jitless: true });
