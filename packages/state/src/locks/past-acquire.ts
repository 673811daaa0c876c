/** An acquire that is gone, as a snapshot keeps it for the answer to a retry. */
export class PastAcquire {
  readonly lock: { readonly name: string };
  readonly acquireIndex: number;
  /** 0 when it still waited. */
  readonly token: number;
  readonly floor = 0;
  readonly gone = true;

  constructor(lock: string, acquireIndex: number, token: number) {
    this.lock = { name: lock };
    this.acquireIndex = acquireIndex;
    this.token = token;
  }
}
