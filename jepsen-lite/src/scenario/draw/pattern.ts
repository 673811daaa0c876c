/** What a pattern of faults is, and what it is drawn from. */

import type { Random } from '@holdfast/runtime';
import type { Fault } from '../../nemeses/index.ts';
import type { Plan } from '../../plan/plan.ts';

export interface PatternDraw {
  readonly random: Random;
  readonly plan: Plan;
  /** In an order of their own. */
  readonly servers: readonly string[];
  readonly atMs: number;
  readonly forMs: number;
  /** What was drawn before. */
  readonly drawn: readonly Fault[];
}

export interface FaultPattern {
  readonly name: string;
  /** In one sentence, for whoever chooses. */
  readonly what: string;
  /** The kinds that it is made of. */
  readonly kinds: readonly Fault['kind'][];
  /** It strikes replicas of the store, which the plan must have. @default false */
  readonly ofReplicas?: true;
  draw(draw: PatternDraw): readonly Fault[];
}
