/**
 * The pre-image rule: whoever changes a node or a session says so first, and the snapshot that is being taken, if any, writes it as
 * it was. Only the stores call this. Without a snapshot it costs one comparison.
 */

import { invariant } from '../invariant.ts';
import type { Session } from '../sessions/session.ts';
import type { NodeSlot } from '../tree/node-store.ts';

export interface Capturing {
  nodeChanging(node: NodeSlot): void;
  sessionChanging(session: Session): void;
}

export class Capture {
  #capturing: Capturing | undefined;

  begin(capturing: Capturing): void {
    invariant(this.#capturing === undefined, 'one snapshot is taken at a time');
    this.#capturing = capturing;
  }

  /** Without effect when another has begun since. */
  end(capturing: Capturing): void {
    if (this.#capturing === capturing) this.#capturing = undefined;
  }

  /** That node, its queue entry or its lock is about to change or to go. */
  node(node: NodeSlot): void {
    if (this.#capturing !== undefined) this.#capturing.nodeChanging(node);
  }

  /** That session, its reply cache, or what became of an acquire that is answered there is about to change. */
  session(session: Session): void {
    if (this.#capturing !== undefined) this.#capturing.sessionChanging(session);
  }
}
