import type { ServerUser } from './server-user.ts';

/** A server that has its data, and has not been started. */
export interface PreparedServer {
  readonly command: string;
  readonly args: readonly string[];
  /** On 127.0.0.1. Nothing keeps it free until the server listens. */
  readonly port: number;
  /** Who has the data, and where: `remove()` takes it away. */
  readonly user: ServerUser;
}
