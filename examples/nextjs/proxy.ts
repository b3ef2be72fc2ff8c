import { type NextRequest, NextResponse } from "next/server";

const DEVELOPING = process.env.NODE_ENV === "development";

/**
 * Sends each page with its content security policy: a page loads what this app serves, and nothing from elsewhere. So
 * an image, a style or a font that a model names is not fetched. The address of such an image may hold what the model knows.
 */
export function proxy(request: NextRequest): NextResponse {
  const nonce = btoa(crypto.randomUUID());
  const policy = pagePolicy(nonce);
  const headers = new Headers(request.headers);
  headers.set("x-nonce", nonce);
  headers.set("content-security-policy", policy); // Next.js puts the nonce of this header on its scripts
  const response = NextResponse.next({ request: { headers } });
  response.headers.set("content-security-policy", policy);
  return response;
}

/** The nonce is new for each page: only scripts that the server wrote have it. */
function pagePolicy(nonce: string): string {
  return [
    "default-src 'self'",
    `script-src 'self' 'nonce-${nonce}' 'strict-dynamic'${DEVELOPING ? " 'unsafe-eval'" : ""}`,
    "style-src 'self' 'unsafe-inline'", // colours of code are style attributes
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

/** Pages. The agent's server sends a policy of its own with what it answers. */
export const config = { matcher: "/((?!api/|_next/static/|_next/image).*)" };
