/** What is wrong with servers and store once everybody has left them: what they still hold, what they wrote to their
 * logs, and who else may read what they stored. */

import type { Violation } from '../../../checkers/violation.ts';
import { openToOthers } from './access.ts';
import { unforeseenLines } from './logs.ts';
import type { Machine } from './machine.ts';
import { excess, usageOf, type Usage } from './usage.ts';

export interface LeftOptions {
  /** Before the load, by host. */
  readonly usageBefore: ReadonlyMap<string, Usage>;
  readonly logFileOf: (host: string) => string;
  readonly dataOf: (host: string) => string;
  /** Whether the ensemble goes on without that server, which says so before it ends. */
  readonly leaves: (host: string) => boolean;
}

export function whatIsLeft(
  machines: readonly Pick<Machine, 'host' | 'pid' | 'diskTrouble' | 'diskWaits' | 'damaged'>[],
  { usageBefore, logFileOf, dataOf, leaves }: LeftOptions,
): Violation[] {
  return machines.flatMap(({ host, pid, diskTrouble, diskWaits, damaged }) => {
    const before = usageBefore.get(host);
    const after = usageOf(pid);
    const problem = before === undefined || after === undefined ? undefined : excess(before, after);
    const file = logFileOf(host);
    const [first] = unforeseenLines(file, { diskTrouble, diskWaits, damaged, leaves: leaves(host) });
    const [open] = openToOthers(dataOf(host));
    return [
      ...(problem === undefined ? [] : [{ name: 'servers-hold-no-more-than-before', message: `${host} ${problem}` }]),
      ...(first === undefined
        ? []
        : [{ name: 'no-unforeseen-error-in-a-log', message: `${file}, line ${first.line}: ${first.text}` }]),
      ...(open === undefined
        ? []
        : [{ name: 'what-is-stored-is-private', message: `other users of the machine have rights to ${open}` }]),
    ];
  });
}
