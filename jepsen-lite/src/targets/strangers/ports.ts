/** Where strangers find the servers that they trouble, by number, and what these call their cluster. */

import type { Address } from '@holdfast/runtime';

export interface Ports {
  readonly clusterId: string;
  readonly clientAddress: (server: number) => Address;
  readonly peerAddress: (server: number) => Address;
}
