/** The rule of each kind of lock. */

import { LockKind, type LockKindNumber } from '@holdfast/protocol';

import type { LockRule } from './lock-rule.ts';
import { mutex } from './mutex.ts';

const rules: Readonly<Record<LockKindNumber, LockRule>> = { [LockKind.mutex]: mutex };

export function isLockKind(kind: number): kind is LockKindNumber {
  return Object.hasOwn(rules, kind);
}

export function ruleOf(kind: LockKindNumber): LockRule {
  return rules[kind];
}
