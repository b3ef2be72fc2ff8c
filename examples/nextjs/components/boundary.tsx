"use client";

import { Component, type ReactNode, Suspense } from "react";

type BoundaryProps = { of: unknown; otherwise: ReactNode; children: ReactNode };

/**
 * Shows `otherwise` while drawing the children throws: the rest of the chat stays. Another `of` tries them again. On the
 * server, `Suspense` does that.
 */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidUpdate(before: BoundaryProps) {
    if (this.state.failed && before.of !== this.props.of) this.setState({ failed: false });
  }

  override render() {
    const { otherwise, children } = this.props;
    return this.state.failed ? otherwise : <Suspense fallback={otherwise}>{children}</Suspense>;
  }
}

/** Text as it was written. */
export function PlainText({ text }: { text: string }) {
  return <p className="whitespace-pre-wrap wrap-anywhere">{text}</p>;
}
