import type { Metadata, Viewport } from "next";
import { headers } from "next/headers";
import type { ReactNode } from "react";
import { Shell } from "./shell";
import "./globals.css";

/** The nonces of `proxy.ts` need pages that are made for each request. */
export const dynamic = "force-dynamic";

export const metadata: Metadata = { title: "Chat" };

export const viewport: Viewport = { colorScheme: "light dark", interactiveWidget: "resizes-content" };

export default async function Layout({ children }: { children: ReactNode }) {
  const nonce = (await headers()).get("x-nonce") ?? undefined;
  return (
    <html lang="en" suppressHydrationWarning>
      <head>
        {/* It runs before the first paint, so that nobody sees the theme that was not chosen. */}
        <script src="/theme.js" nonce={nonce} suppressHydrationWarning />
      </head>
      <body>
        <Shell>{children}</Shell>
      </body>
    </html>
  );
}
