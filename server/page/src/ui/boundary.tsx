import { Component, type ReactNode } from "react";

type BoundaryProps = { of: unknown; otherwise: ReactNode; children: ReactNode };

/** Shows `otherwise` while drawing the children throws, so that a failure takes nothing else along. Another `of` tries
 * the children again. */
export class Boundary extends Component<BoundaryProps, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError(): { failed: boolean } {
    return { failed: true };
  }

  override componentDidUpdate(before: BoundaryProps): void {
    if (this.state.failed && before.of !== this.props.of) this.setState({ failed: false });
  }

  override render(): ReactNode {
    return this.state.failed ? this.props.otherwise : this.props.children;
  }
}
