import type { Metadata, Viewport } from "next";
import { headers } from "next/headers";
import { type ReactNode, Suspense } from "react";
import { aboutAgent } from "@/lib/about-agent";
import { Shell } from "./shell";
import "./globals.css";

export const metadata: Metadata = { title: "Chat" };

export const viewport: Viewport = { colorScheme: "light dark", interactiveWidget: "resizes-content" };

/** The nonce of `proxy.ts` needs a new render for each request, so everything is inside `Suspense`. */
export default function Layout({ children }: { children: ReactNode }) {
  return (
    <Suspense>
      <Document>{children}</Document>
    </Suspense>
  );
}

async function Document({ children }: { children: ReactNode }) {
  const { agent } = await aboutAgent();
  const nonce = (await headers()).get("x-nonce") ?? undefined;
  return (
    <html lang="en" suppressHydrationWarning>
      <head>
        {/* eslint-disable-next-line @next/next/no-sync-scripts -- sets the theme before the first paint */}
        <script src="/theme.js" nonce={nonce} suppressHydrationWarning />
      </head>
      <body>
        <Shell agent={agent}>{children}</Shell>
      </body>
    </html>
  );
}
