/** One lock that somebody holds: its container, its holders and those who wait. An idle lock does not exist. */

import type { LockKindNumber } from '@holdfast/protocol';

import type { NodeSlot } from '../tree/node-store.ts';
import { AcquireList } from './acquire-list.ts';
import type { LockRule } from './rules/lock-rule.ts';
import { ruleOf } from './rules/lock-rules.ts';

export class Lock {
  readonly name: string;
  readonly kind: LockKindNumber;
  readonly rule: LockRule;
  /** The node whose children are the queue. */
  readonly container: NodeSlot;
  readonly holders = new AcquireList();
  readonly waiters = new AcquireList();

  constructor(name: string, kind: LockKindNumber, container: NodeSlot) {
    this.name = name;
    this.kind = kind;
    this.rule = ruleOf(kind);
    this.container = container;
  }

  /** Whether an acquire that comes now would hold at once. */
  get free(): boolean {
    return this.waiters.size === 0 && this.rule.mayHold(this.holders);
  }

  get idle(): boolean {
    return this.holders.size === 0 && this.waiters.size === 0;
  }
}
