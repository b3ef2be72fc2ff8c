import type { NextConfig } from "next";

/** Headers: other sites cannot frame these pages, and the browser does not resolve hosts of links before a click. */
const HEADERS = [
  { key: "X-Frame-Options", value: "DENY" },
  { key: "Referrer-Policy", value: "same-origin" },
  { key: "X-DNS-Prefetch-Control", value: "off" },
];

export default {
  reactStrictMode: true,
  cacheComponents: true,
  partialPrefetching: true,
  headers: async () => [{ source: "/:path*", headers: HEADERS }],
} satisfies NextConfig;
