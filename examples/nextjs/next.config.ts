import type { NextConfig } from "next";

/** What other sites may do with these pages: nothing, not even show them in a frame. */
const HEADERS = [
  { key: "X-Frame-Options", value: "DENY" },
  { key: "Referrer-Policy", value: "same-origin" },
];

export default {
  reactStrictMode: true,
  headers: async () => [{ source: "/:path*", headers: HEADERS }],
} satisfies NextConfig;
