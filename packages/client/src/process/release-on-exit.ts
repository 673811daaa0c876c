/** Gives back what a client has when its process is told to end. */

import type { Logger } from '@holdfast/runtime';
import { InvalidArgumentError } from '../errors.ts';
import { checkOptionNames } from '../option-names.ts';
import { beforeExit, EXIT_SIGNALS, type ExitSignal } from './exit-signals.ts';

/**
 * What `client.releaseOnExit` waits for.
 *
 * @example
 * client.releaseOnExit({ signals: ['SIGTERM'] });
 */
export interface ReleaseOnExitOptions {
  /** @default ['SIGTERM', 'SIGINT'] */
  readonly signals?: readonly ExitSignal[];
  /**
   * Runs before the client is closed, with the locks still held: the place to finish what is under way. What it throws is logged. Keep it
   * shorter than what the process is given to end; Kubernetes gives 30 seconds.
   *
   * @example
   * client.releaseOnExit({ before: () => server.close() });
   */
  readonly before?: (signal: ExitSignal) => unknown;
}

const OPTION_NAMES: Record<keyof ReleaseOnExitOptions, true> = { signals: true, before: true };

/** Returns what takes it back. @throws InvalidArgumentError */
export function releaseOnExit(
  options: ReleaseOnExitOptions,
  deps: { readonly close: () => Promise<void>; readonly logger: Logger },
): () => void {
  checkOptionNames('releaseOnExit', options, OPTION_NAMES);
  const { signals = ['SIGTERM', 'SIGINT'], before } = options;
  checkSignals(signals);
  if (before !== undefined && typeof before !== 'function')
    throw new InvalidArgumentError('before must be a function, which is called with the signal');
  return beforeExit(signals, async (signal) => {
    try {
      await before?.(signal);
    } catch (error) {
      deps.logger.error(
        { err: error, signal },
        'before of releaseOnExit failed; the locks are given back all the same',
      );
    }
    await deps.close();
  });
}

function checkSignals(signals: readonly unknown[]): void {
  if (!Array.isArray(signals) || signals.length === 0)
    throw new InvalidArgumentError('signals must name at least one signal, such as "SIGTERM"');
  for (const signal of signals as readonly unknown[]) {
    if ((EXIT_SIGNALS as readonly unknown[]).includes(signal)) continue;
    const known = EXIT_SIGNALS.join(', ');
    throw new InvalidArgumentError(
      `signals has ${JSON.stringify(signal)}; a process is ended, and hears it, by ${known}`,
    );
  }
}
