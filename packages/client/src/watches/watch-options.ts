/** What callers say of watches, checked before anything is sent. */

import { InvalidArgumentError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { checkDuration } from '../options.ts';
import type { WatchOptions } from './node-watch.ts';
import type { ReadAndWatchOptions } from './read-and-watch.ts';

const WATCH_OPTIONS: Record<keyof WatchOptions, true> = {
  recursive: true,
  from: true,
  onMissed: true,
  signal: true,
  timeoutMs: true,
};

/** @throws InvalidArgumentError */
export function checkWatchOptions(options: WatchOptions): void {
  checkOptionNames('watch', options, WATCH_OPTIONS);
  const { from, onMissed } = options;
  if (from !== undefined && (!Number.isSafeInteger(from) || from < 1)) {
    throw new InvalidArgumentError(`from is ${String(from)}; it must be an index, such as that of an earlier event`);
  }
  if (onMissed !== undefined && onMissed !== 'error' && onMissed !== 'resync') {
    throw new InvalidArgumentError(`onMissed is ${JSON.stringify(onMissed)}; it must be 'error' or 'resync'`);
  }
  checkDuration('timeoutMs', options.timeoutMs);
}

const READ_AND_WATCH_OPTIONS: Record<keyof ReadAndWatchOptions, true> = {
  recursive: true,
  onMissed: true,
  signal: true,
  timeoutMs: true,
  consistency: true,
};

/** @throws InvalidArgumentError */
export function checkReadAndWatchOptions(what: string, options: ReadAndWatchOptions): void {
  checkOptionNames(what, options, READ_AND_WATCH_OPTIONS);
  const { consistency, ...watchOptions } = options;
  checkWatchOptions(watchOptions);
  if (consistency === undefined || consistency === 'linearizable' || consistency === 'session') return;
  throw new InvalidArgumentError(
    `consistency is ${JSON.stringify(consistency)}; it must be 'linearizable' or 'session', so that no event before what is read is lost`,
  );
}
