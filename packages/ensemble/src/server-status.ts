/** What a server says of itself over HTTP. */

/** The fields of `GET /status` that launchers and tests use; servers may send more. */
export interface ServerStatus {
  readonly id: number;
  readonly role: string;
  readonly term: number;
  /** 0 while none is known. */
  readonly leader: number;
  readonly commitIndex: number;
  readonly appliedIndex: number;
  readonly sessions: number;
  readonly locks: number;
}

const REQUEST_TIMEOUT_MS = 1_000;

/** Undefined when the server does not answer, or not with its status. */
export async function fetchStatus(address: string): Promise<ServerStatus | undefined> {
  try {
    const response = await fetch(`http://${address}/status`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    if (!response.ok) return undefined;
    const status = (await response.json()) as ServerStatus & { readonly leader?: number | null };
    return { ...status, leader: status.leader ?? 0 };
  } catch {
    return undefined;
  }
}

/** True when `GET path` answers 200. */
export async function answersOk(address: string, path: string): Promise<boolean> {
  try {
    const response = await fetch(`http://${address}${path}`, { signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}
