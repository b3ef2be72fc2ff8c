import { type NextRequest, NextResponse } from "next/server";

const DEVELOPING = process.env.NODE_ENV === "development";

/**
 * Add a content security policy to each page: the browser loads files only from this app. Otherwise a model could leak
 * data in the URL of an image, a style or a font on another server.
 */
export function proxy(request: NextRequest): NextResponse {
  const nonce = btoa(crypto.randomUUID());
  const policy = pagePolicy(nonce);
  const headers = new Headers(request.headers);
  headers.set("x-nonce", nonce);
  headers.set("content-security-policy", policy); // Next.js reads the nonce here, and sets it on its scripts
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("content-security-policy", policy);
  return response;
}

/** The nonce is new for each response, so only scripts of this app run. */
function pagePolicy(nonce: string): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${DEVELOPING ? " 'unsafe-eval'" : ""}`,
    "style-src 'self' 'unsafe-inline'", // highlighted code has its colors in style attributes
    "img-src 'self' data: blob:",
    "media-src 'self' data: blob:",
    `connect-src 'self'${DEVELOPING ? " ws:" : ""}`,
    "object-src 'none'",
    "frame-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** Only pages. The agent's server sets the policy of its own responses. */
export const config = { matcher: "/((?!api/|_next/static/|_next/image).*)" };
