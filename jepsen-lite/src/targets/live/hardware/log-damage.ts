/** Damage of what a server's log has acknowledged, as a capability. It has struck when the server says that a part of its log is lost. */

import { readFileSync } from 'node:fs';
import type { Capabilities } from '../../../nemeses/target.ts';
import type { EffectCounts } from '../../effects.ts';
import { flipAcknowledgedBit } from '../disks/flip-bit.ts';
import { ACKNOWLEDGED_LOG_LOST } from '../processes/logs.ts';
import type { Machine } from '../processes/machine.ts';

const LOOK_MS = 200;

interface LogDamageOptions {
  readonly machineOn: (host: string) => Machine;
  /** Of a server. */
  readonly dataDirectory: (host: string) => string;
  readonly logFile: (host: string) => string;
  readonly effects: EffectCounts;
  readonly after: (ms: number, action: () => void) => void;
  readonly failed: (error: unknown) => void;
}

export function logDamage(options: LogDamageOptions): Capabilities['damage'] {
  const { machineOn, dataDirectory, logFile, effects, after, failed } = options;
  return {
    flipBit(host, at, bit) {
      const file = logFile(host);
      const before = losses(file);
      const machine = machineOn(host);
      const damage = (): Promise<boolean> => flipAcknowledgedBit(dataDirectory(host), at, bit);
      machine.expectDamage();
      const look = (): void => {
        if (losses(file) === before) after(LOOK_MS, look);
        else {
          effects.count('flipped-bit-read');
          machine.noteDamageRead();
        }
      };
      // A log that has just begun may have too little to damage, and a disk may have lost its power.
      const flip = async (): Promise<void> => {
        if (machine.mends) return;
        const flipped = !machine.powerless && (await machine.touching(damage));
        if (flipped) machine.noteDamage();
        after(LOOK_MS, flipped ? look : again);
      };
      const again = (): void => void flip().catch(failed);
      again();
    },
  };
}

function losses(file: string): number {
  return readFileSync(file, 'utf8').split(ACKNOWLEDGED_LOG_LOST).length - 1;
}
