/** Where the parts of a local ensemble serve. Fixed, so that documents and tools agree; `basePort` moves all of them together. */

export const DEFAULT_BASE_PORT = 7100;
/** Beyond this the ports of clients, peers and the store would meet. */
export const MAX_SERVERS = 9;

const HOST = '127.0.0.1';
const PEER_OFFSET = 100;
const FENCED_KV_OFFSET = 300;
export const HIGHEST_BASE_PORT = 65_535 - FENCED_KV_OFFSET;

/** Clients (WebSocket and HTTP on one port) of server `id`, counted from 1. */
export function clientAddress(basePort: number, id: number): string {
  return `${HOST}:${basePort + id}`;
}

export function peerAddress(basePort: number, id: number): string {
  return `${HOST}:${basePort + PEER_OFFSET + id}`;
}

export function fencedKvAddress(basePort: number): string {
  return `${HOST}:${basePort + FENCED_KV_OFFSET}`;
}

/** Server ids of an ensemble of that size. */
export function serverIds(servers: number): number[] {
  return Array.from({ length: servers }, (_, position) => position + 1);
}
