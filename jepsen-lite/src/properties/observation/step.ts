/** One entry and what came of it: what every promise observes. */

import type { Answer, Command, Query, Reply } from '@holdfast/protocol';
import type { NodeChangeKind, Output } from '@holdfast/state';

import type { Input } from './input.ts';
import type { LockChange } from './lock-change.ts';
import type { View } from './view.ts';

/** What was reported of a node. */
export interface ReportedChange {
  readonly kind: NodeChangeKind;
  readonly path: string;
  readonly index: number;
}

export interface Step {
  readonly index: number;
  /** What the leader's wall clock said, which may go back. */
  readonly stamp: number;
  readonly input: Input;
  readonly outputs: readonly Output[];
  /** What the outputs say of the queues. */
  readonly changes: readonly LockChange[];
  /** What the change feed said, in its order. */
  readonly nodeChanges: readonly ReportedChange[];
  readonly before: View;
  readonly after: View;
  readonly digest: number;
  /** Asks the machine, after the entry. */
  readonly query: (query: Query) => Answer;
  /** In what a machine that was restored from a snapshot differs from this one; undefined when it does not. */
  readonly restoredDifference: string | undefined;
  /** Another machine that was fed the same entries; its state is looked at now and then. */
  readonly twin: { readonly outputs: readonly Output[]; readonly digest: number; readonly view: View | undefined };
}

/** The reply to a request that was applied now, not answered from memory; undefined for every other entry. */
export function freshReply(step: Pick<Step, 'input' | 'before' | 'outputs'>): Reply | undefined {
  const { input } = step;
  if (input.type !== 'request') return undefined;
  const session = step.before.sessions.get(input.session);
  if (session === undefined || input.number !== session.lastApplied + 1) return undefined;
  return step.outputs.find((output) => output.type === 'reply')?.reply;
}

/** The command that was applied now, with its reply and its session; undefined for every other entry. */
export function appliedCommand(
  step: Pick<Step, 'input' | 'before' | 'outputs'>,
): { readonly session: number; readonly command: Command; readonly reply: Reply } | undefined {
  const { input } = step;
  const reply = freshReply(step);
  if (reply === undefined || input.type !== 'request' || input.command === undefined) return undefined;
  return { session: input.session, command: input.command, reply };
}

export function errorCode(reply: Reply | undefined): string | undefined {
  return reply?.type === 'error' ? reply.code : undefined;
}

export function outputsOf<T extends Output['type']>(
  outputs: readonly Output[],
  type: T,
): readonly Extract<Output, { type: T }>[] {
  return outputs.filter((output): output is Extract<Output, { type: T }> => output.type === type);
}
