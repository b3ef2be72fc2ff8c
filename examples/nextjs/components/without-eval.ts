import { config } from "zod/v4/core";

/**
 * Zod would try `new Function` when the first schema is made, and the page's policy forbids it. Modules
 * that several chunks share run before those of `main.tsx`, so each of them that imports `ai` imports this first.
 */
config({ jitless: true });
