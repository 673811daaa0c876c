/** What a replica says of itself and its group, where it answers. */

/** Of `GET /health`. */
export interface ReplicaHealth {
  readonly serving: boolean;
  readonly epoch: number;
  readonly inSync: readonly string[];
  readonly lastIndex: number;
  readonly committedIndex: number;
}

const TIMEOUT_MS = 1_000;

/** Undefined: it did not answer. `address`: host and port of its clients. */
export async function healthOf(address: string): Promise<ReplicaHealth | undefined> {
  try {
    const response = await fetch(`http://${address}/health`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    return response.ok ? ((await response.json()) as ReplicaHealth) : undefined;
  } catch {
    // It is down, paused, or has just ended.
    return undefined;
  }
}
