/** What events take on their way, about. */

import type { NodeEvent } from '@holdfast/protocol';

const EVENT_BYTES = 8;

export function toldBytes(events: readonly NodeEvent[]): number {
  let bytes = 0;
  for (const { path } of events) bytes += EVENT_BYTES + path.length;
  return bytes;
}
