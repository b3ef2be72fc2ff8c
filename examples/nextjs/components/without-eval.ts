import { config } from "zod/v4/core";

/**
 * Zod tries `new Function` when it creates the first schema, which the content security policy forbids. Import this
 * module before `ai`, which creates schemas when it loads.
 */
config({ jitless: true });
