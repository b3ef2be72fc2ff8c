"use client";

import { Broken } from "@/components/layout/Broken";
import "./globals.css";

/** Page for an error in the layout itself. */
export default function Failed() {
  return (
    <html lang="en">
      <body>
        <Broken />
      </body>
    </html>
  );
}
