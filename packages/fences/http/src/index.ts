/**
 * The header `Fencing-Token`: handlers that refuse requests of holders whose lock was granted to somebody newer.
 *
 * @example
 * import { fenceNode, fileFloors } from '@holdfast/fence-http';
 *
 * const listener = fenceNode({ floors: fileFloors('/var/lib/my-service/floors'), scope: 'jobs' }, async (request, response, fenced) => {
 *   await save(await bodyOf(request), fenced.token);
 *   response.writeHead(204).end();
 * });
 *
 * @packageDocumentation
 */

export { FenceError, StaleTokenError, type FenceErrorCode, type Holder } from '@holdfast/fence';
export { fencedFetch } from './client.ts';
export type { HttpFenceOptions } from './fence.ts';
export { fileFloors, memoryFloors, type FloorStore, type MemoryFloorsOptions } from './floors.ts';
export * from './frameworks.ts';
export type { FencedRequest } from './gate.ts';
export { formatFencingToken, parseFencingToken, type PresentedToken } from './header.ts';
