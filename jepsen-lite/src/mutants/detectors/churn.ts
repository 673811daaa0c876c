/**
 * Random walks of bare cores: one attempt is a few dozen of them, of three and of five servers; some with transfers, some with
 * snapshots. Those with transfers are of five: of three servers a quorum has what a successor has.
 */

import { randomStream } from '@holdfast/runtime/sim';

import { failureOf, type Attempt } from '../attempt.ts';
import { BrokenLawError } from './churn/laws.ts';
import { walk } from './churn/walk.ts';

const WALKS = 20;
const TRANSFER_WALKS = 10;
const SNAPSHOT_WALKS = 10;
const STEPS = 150;

export async function churn(seed: number): Promise<Attempt> {
  let simulatedMs = 0;
  for (let number = 0; number < WALKS + TRANSFER_WALKS + SNAPSHOT_WALKS; number += 1) {
    const transfers = number >= WALKS && number < WALKS + TRANSFER_WALKS;
    const snapshots = number >= WALKS + TRANSFER_WALKS;
    const servers = number % 2 === 0 && !transfers ? 3 : 5;
    try {
      simulatedMs += walk(randomStream(seed, `walk ${number}`), servers, STEPS, { transfers, snapshots }).simulatedMs;
    } catch (error) {
      const failure =
        error instanceof BrokenLawError
          ? ({ kind: 'promise', name: error.law, message: error.message } as const)
          : failureOf(error);
      return {
        failure: { ...failure, message: `${failure.message} (walk ${number} of ${servers} servers)` },
        simulatedMs,
      };
    }
  }
  return { failure: undefined, simulatedMs };
}
