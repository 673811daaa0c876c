/** The same write in two ways, which are measured by turns: without the fence and through it, or to one store and to another. */

import type { Holder } from '@holdfast/fence';

import type { Trips } from './trips.ts';

/** One durable write of a client, which has rows, keys or files of its own. */
export type Write = (client: number) => Promise<unknown>;

export interface Pair {
  readonly without: Write;
  readonly through: Write;
  /** Counts round trips, where there are any. */
  readonly trips?: Trips;
  /** Processes of the servers, which are no bystanders. */
  readonly pids: () => readonly number[];
  /** Ends the servers, and removes their data. */
  close(): Promise<void>;
}

export interface PairSource {
  /** What is compared, under which settings; for whoever reads the table. */
  readonly settings: string;
  /** @param directory exists, for logs and data of this pair alone */
  open(directory: string, clients: number): Promise<Pair>;
}

/** What is to be installed first. The measurement is left out, and the others go on. */
export class NotInstalledError extends Error {
  constructor(what: string, debianPackage: string) {
    super(`${what} is not installed; run: sudo apt-get install --no-install-recommends ${debianPackage}`);
    this.name = 'NotInstalledError';
  }
}

/** Bytes of a value, in every write that has one. */
const VALUE_BYTES = 100;

export function valueOf(round: number): Buffer {
  return Buffer.alloc(VALUE_BYTES, String(round % 10));
}

/** A holder for each client, with what a held lock has, for all of its writes: what an adapter has installed, it remembers of the holder. */
export function holders(clients: number): (client: number) => Holder {
  const { signal } = new AbortController();
  const all = Array.from({ length: clients }, (_, client): Holder => ({
    token: client + 1,
    signal,
    assertHeld: () => undefined,
  }));
  return (client) => {
    const holder = all[client];
    if (holder === undefined) throw new RangeError(`there is no client ${client}`);
    return holder;
  };
}

/** A number for each next write of a client. */
export function rounds(clients: number): (client: number) => number {
  const next = Array.from({ length: clients }, () => 0);
  return (client) => {
    const round = next[client] ?? 0;
    next[client] = round + 1;
    return round;
  };
}
