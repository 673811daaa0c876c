/** What an operator can do about an end that a restart does not cure, with everything that the command needs filled in. */

import { UnsupportedEntryError } from '@holdfast/state';
import { ACCEPT_LOSS, STOP_BEFORE } from './offline/offline-commands.ts';

/** `data`: the data directory of the server that ends. Empty when the error itself says everything. */
export function exitAdvice(error: unknown, data: string): string {
  if (error instanceof UnsupportedEntryError) return adviceOnEntry(error.index, data);
  return error instanceof Error && error.cause !== undefined ? exitAdvice(error.cause, data) : '';
}

function adviceOnEntry(index: number, data: string): string {
  return [
    '. If no version can apply it, no server of this cluster goes on: stop them all, and begin a new one with everything before it.',
    `That gives up everything from index ${index} on, whoever wrote it and whether it was acknowledged or not; every session ends, and`,
    'tokens go on above all old ones. Any server that ended at this entry will do:',
    `lockd recover --data ${quoted(data)} --to ${quoted(`${data}-new`)} ${STOP_BEFORE} ${index} ${ACCEPT_LOSS}`,
  ].join(' ');
}

/** For a shell. */
function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", String.raw`'\''`)}'`;
}
