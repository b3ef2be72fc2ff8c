import { Component, type ReactNode, Suspense } from "react";

type BoundaryProps = { of: unknown; otherwise: ReactNode; children: ReactNode };

/**
 * Error boundary: shows `otherwise` if the children cannot be rendered. A new value of `of` renders the children again.
 * During server rendering, `Suspense` catches the error.
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
