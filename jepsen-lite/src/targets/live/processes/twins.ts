/** A second process for a server that has one: it must end, with the code for a directory in use, and touch nothing. */

import { ExitCode } from '@holdfast/lockd';
import { describeExit, type ProcessExit } from '@holdfast/ensemble';
import type { Capabilities } from '../../../nemeses/target.ts';
import type { Machine, Running } from './machine.ts';

/** Node starts slowly on a busy machine, and a holder that is stopped is given some seconds to answer. */
const END_LIMIT_MS = 30_000;

export interface TwinOptions {
  readonly machineOn: (host: string) => Machine;
  /** The same command as that of the server, with a log of its own. */
  readonly launch: (host: string) => Running;
  readonly refused: () => void;
  readonly failed: (name: string, message: string) => void;
}

/**
 * Nothing happens to a host whose process does not live, or has not served yet: it may not have its directory, and would find it taken.
 * A process that ends meanwhile leaves its directory to the second one, which may then begin in its place: it has not struck, and is
 * ended.
 */
export function twinsOf({ machineOn, launch, refused, failed }: TwinOptions): NonNullable<Capabilities['twins']> {
  return {
    async start(host) {
      const machine = machineOn(host);
      if (!machine.served) return;
      await machine.beside(async () => {
        const exit = await endOf(launch(host), machine.gone());
        if (exit === 'left alone') return;
        if (exit?.code === ExitCode.dataDirectoryInUse) {
          refused();
          return;
        }
        const became = exit === undefined ? `lived for ${END_LIMIT_MS} ms` : `ended: ${describeExit(exit)}`;
        failed(
          'one-process-has-a-directory',
          `a second process of ${host} ${became}; its directory refuses it with ${ExitCode.dataDirectoryInUse}`,
        );
      });
    },
  };
}

/** Undefined when it had to be killed, since it went on. */
async function endOf(twin: Running, gone: Promise<void>): Promise<ProcessExit | 'left alone' | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => (timer = setTimeout(() => resolve(undefined), END_LIMIT_MS)));
  const alone = gone.then(() => 'left alone' as const);
  const exit = await Promise.race([twin.exited, alone, late]);
  clearTimeout(timer);
  if (typeof exit === 'object') return exit;
  twin.kill();
  await twin.exited;
  return exit;
}
