import type { NextConfig } from "next";

/** Keeps these pages out of other sites' frames, and the addresses that a model names unknown until they are clicked. */
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
