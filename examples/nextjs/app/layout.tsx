import type { Metadata, Viewport } from "next";
import type { ReactNode } from "react";
import { Sidebar } from "@/components/sidebar";
import "./globals.css";

/** The nonces of `proxy.ts` need pages that are made for each request. */
export const dynamic = "force-dynamic";

export const metadata: Metadata = { title: "Chat" };

export const viewport: Viewport = { colorScheme: "light dark", interactiveWidget: "resizes-content" };

export default function Layout({ children }: { children: ReactNode }) {
  return (
    <html lang="en">
      <body className="flex h-dvh bg-background text-foreground antialiased max-md:flex-col">
        <Sidebar />
        <div className="flex min-h-0 min-w-0 flex-1 flex-col">{children}</div>
      </body>
    </html>
  );
}
