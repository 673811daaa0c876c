/** Damage of what a server's log has acknowledged, as a capability. It has struck when the server says that a part of its log is lost. */

import { readFileSync } from 'node:fs';
import type { Capabilities } from '../../../nemeses/target.ts';
import type { EffectCounts } from '../../effects.ts';
import { flipAcknowledgedBit } from '../disks/flip-bit.ts';
import { ACKNOWLEDGED_LOG_LOST } from '../processes/logs.ts';
import type { Machine } from '../processes/machine.ts';

const LOOK_MS = 200;
/** Who has not read it by then, whatever else has struck meanwhile, is started anew. */
const READ_MS = 5_000;
const BITS = 8;

interface LogDamageOptions {
  readonly machineOn: (host: string) => Machine;
  /** Of a server. */
  readonly dataDirectory: (host: string) => string;
  readonly logFile: (host: string) => string;
  /** The others decide without what this server's log has. */
  readonly mayDamage: (host: string) => boolean;
  readonly effects: EffectCounts;
  readonly after: (ms: number, action: () => void) => void;
  readonly failed: (error: unknown) => void;
}

export function logDamage(options: LogDamageOptions): Capabilities['damage'] {
  const { machineOn, dataDirectory, logFile, mayDamage, effects, after, failed } = options;
  return {
    flipBit(host, at, bit) {
      const file = logFile(host);
      // When it was damaged, which another damage may have kept waiting.
      let before = 0;
      const machine = machineOn(host);
      const damage = (of = bit): Promise<boolean> => flipAcknowledgedBit(dataDirectory(host), at, of);
      machine.expectDamage();
      const look = (): void => {
        if (losses(file) === before) after(LOOK_MS, look);
        else {
          effects.count('flipped-bit-read');
          machine.noteDamageRead();
        }
      };
      const startAnew = async (): Promise<void> => {
        if (machine.mends || losses(file) > before) return;
        await machine.kill();
        // A snapshot may have let go of what was damaged. Where it is still there, the same bit would mend it.
        await machine.touching(() => damage((bit + 1) % BITS));
        await machine.start();
      };
      // A log that has just begun may have too little to damage, a disk may have lost its power, and others may have lost theirs.
      const flip = async (): Promise<void> => {
        if (machine.mends) return;
        if (machine.powerless || !mayDamage(host)) {
          after(LOOK_MS, again);
          return;
        }
        before = losses(file);
        machine.noteDamage();
        if (await machine.touching(() => damage())) {
          after(LOOK_MS, look);
          after(READ_MS, () => void startAnew().catch(failed));
        } else {
          machine.noteUndamaged();
          after(LOOK_MS, again);
        }
      };
      const again = (): void => void flip().catch(failed);
      again();
    },
  };
}

function losses(file: string): number {
  return readFileSync(file, 'utf8').split(ACKNOWLEDGED_LOG_LOST).length - 1;
}
