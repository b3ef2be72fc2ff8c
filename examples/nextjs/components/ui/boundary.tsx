import { Component, type ReactNode, Suspense } from "react";

type BoundaryProps = { of: unknown; otherwise: ReactNode; children: ReactNode };

/**
 * Shows `otherwise` while drawing the children throws, so that a failure takes nothing else along. Another `of` tries
 * the children again. Where a server draws them, `Suspense` does that.
 */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (this.state.failed && before.of !== this.props.of) this.setState({ failed: false });
  }

  override render(): ReactNode {
    const { otherwise, children } = this.props;
    return this.state.failed ? otherwise : <Suspense fallback={otherwise}>{children}</Suspense>;
  }
}
