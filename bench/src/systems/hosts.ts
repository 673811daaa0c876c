/** Where the three servers of a system run: on one loopback address, or each on an address of its own that can be cut off. */

export interface Hosts {
  /** IP address of a server, counted from 0. */
  address(server: number): string;
  /** What goes before a server's command, and becomes it by exec. */
  inside(server: number): readonly string[];
  /** Drops every packet between that server and the other servers, both ways; clients still reach all. Undefined where hosts cannot. */
  readonly isolate: ((server: number) => void) | undefined;
  /** Ends what `isolate` began. @returns how many packets were dropped. */
  mend(server: number): number;
  close(): void;
}

export const LOOPBACK: Hosts = {
  address: () => '127.0.0.1',
  inside: () => [],
  isolate: undefined,
  mend: () => 0,
  close: () => undefined,
};
