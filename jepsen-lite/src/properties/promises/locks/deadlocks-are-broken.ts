/**
 * No wait that is to end in a deadlock is left in one by the entry that closes it; each that ends so has asked for it, is the youngest that has, and
 * is told a ring of waits and holds that are there. The listing has every deadlock, by the youngest wait of each, and tells each wait of its own.
 */

import type { DeadlockStep } from '@holdfast/protocol';

import { demand } from '../../demand.ts';
import { WaitFor } from '../../models/wait-for.ts';
import { difference } from '../../observation/difference.ts';
import { appliedCommand, outputsOf, type Step } from '../../observation/step.ts';
import { allAcquires, type View } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';

const EVERYTHING = 1_000;

interface Ended {
  readonly session: number;
  readonly acquireIndex: number;
  readonly steps: readonly DeadlockStep[];
}

export function deadlocksAreBroken(): StatePromise {
  return {
    name: 'a wait that asks for it ends in a deadlock, and every deadlock is listed',
    observe(step) {
      for (const ended of endedBy(step)) rightlyEnded(step, ended);
      // Other promises see to it that what changes nothing shows nothing new.
      if (step.changes.length === 0) return;
      const graph = new WaitFor(step.after);
      left(step, graph);
      listed(step, graph);
    },
  };
}

/** The entry's own acquire as well, which is answered so. */
function endedBy(step: Step): readonly Ended[] {
  const ended = outputsOf(step.outputs, 'lost').flatMap(({ session, acquireIndex, reason, deadlock }) => {
    demand(
      (reason === 'deadlock') === (deadlock !== undefined),
      () => `acquire ${acquireIndex} was lost (${reason}) with the deadlock ${JSON.stringify(deadlock)}`,
    );
    return deadlock === undefined ? [] : [{ session, acquireIndex, steps: deadlock }];
  });
  const applied = appliedCommand(step);
  if (applied?.reply.type !== 'deadlock') return ended;
  const { session, reply } = applied;
  return [...ended, { session, acquireIndex: step.index, steps: reply.steps }];
}

function rightlyEnded(step: Step, ended: Ended): void {
  const { before, after, index } = step;
  const { session, acquireIndex, steps } = ended;
  const what = `acquire ${acquireIndex} of session ${session}, which ended in the deadlock ${JSON.stringify(steps)}`;
  const applied = appliedCommand(step);
  const asks = applied?.command.type === 'acquireWith' && applied.command.abortInDeadlock;
  const aborting = abortingOf(before);
  const aborts = (wait: number): boolean => (wait === index ? asks : aborting.has(wait));
  const [first] = steps;
  if (first === undefined) return demand(false, () => what);
  // Or others of it wait behind that one.
  const begins = first.session === session && first.acquireIndex === acquireIndex;
  demand(begins || steps.every((other) => other.acquireIndex !== acquireIndex), () => `${what}, does not begin it`);
  demand(aborts(acquireIndex), () => `${what}, has not asked for that`);
  demand(
    steps.every((other) => !aborts(other.acquireIndex) || other.acquireIndex <= acquireIndex),
    () => `${what}, is not the youngest that has asked for that`,
  );
  const gone = [...after.queues.values()].every((queue) => queue.every((each) => each.acquireIndex !== acquireIndex));
  demand(gone, () => `${what}, is still in a queue`);
  for (const [at, each] of steps.entries()) {
    const next = steps[at + 1] ?? first;
    const wait = before.queues.get(each.waitsFor)?.find((entry) => entry.acquireIndex === each.acquireIndex);
    const waits = each.acquireIndex === index ? applied?.session : wait?.token === 0 ? wait.session : undefined;
    demand(waits === each.session, () => `${what}: session ${each.session} does not wait for ${each.waitsFor}`);
    const held = [...(before.queues.get(each.holds) ?? []), ...(after.queues.get(each.holds) ?? [])];
    demand(
      held.some((entry) => entry.session === each.session && entry.token === each.token && entry.token !== 0),
      () => `${what}: session ${each.session} does not hold ${each.holds}`,
    );
    demand(
      each.behind !== 0 || next.holds === each.waitsFor,
      () => `${what}: who waits for ${each.waitsFor} does not wait for ${next.holds}`,
    );
    const front = allAcquires(before).filter((entry) => entry.acquireIndex === each.behind);
    demand(
      each.behind === 0 || front.some(({ lock, token }) => lock === next.holds && token === 0),
      () => `${what}: acquire ${each.behind} does not wait for ${next.holds}`,
    );
  }
}

/** Waits that are to end in a deadlock, by acquire index. */
function abortingOf(view: View): ReadonlySet<number> {
  const waits = allAcquires(view).filter(({ token, abortInDeadlock = false }) => token === 0 && abortInDeadlock);
  return new Set(waits.map(({ acquireIndex }) => acquireIndex));
}

/** What the entry has brought is in no deadlock with one that was to end. */
function left(step: Step, graph: WaitFor): void {
  const fresh = step.changes.flatMap((change) =>
    change.type === 'granted' || (change.type === 'enqueued' && change.token === 0) ? [change.acquireIndex] : [],
  );
  const aborting = [...abortingOf(step.after)];
  for (const acquire of fresh) {
    const wait = aborting.find((other) => graph.leads(acquire, other) && graph.leads(other, acquire));
    demand(
      wait === undefined,
      () =>
        `acquire ${wait} was to end in a deadlock, and is in one with ${acquire}, which entry ${step.index} has brought`,
    );
  }
}

function listed({ query, after }: Step, graph: WaitFor): void {
  const answer = query({ type: 'deadlocks', after: 0, limit: EVERYTHING });
  demand(answer.type === 'deadlocks' && !answer.more, () => `the listing of deadlocks is ${JSON.stringify(answer)}`);
  const expected = graph.waits.filter((wait) => graph.leads(wait, wait, wait));
  const shown = answer.deadlocks.map(({ steps }) => steps[0]?.acquireIndex);
  const wrong = difference(shown, expected) ?? difference(answer.skipped, 0);
  demand(wrong === undefined, () => `the youngest waits of the deadlocks that are listed${wrong}`);
  for (const [lock, queue] of after.queues) {
    const waiting = queue.filter(({ token }) => token === 0);
    for (const [before, { acquireIndex, since }] of waiting.entries()) {
      const told = query({ type: 'waitingFor', lock, acquireIndex });
      demand(told.type === 'waitingFor', () => `a wait was told ${JSON.stringify(told)}`);
      const inOne = graph.leads(acquireIndex, acquireIndex);
      const other =
        difference({ before: told.before, since: told.since }, { before, since }) ??
        difference(told.deadlock.length > 0, inOne);
      demand(other === undefined, () => `acquire ${acquireIndex} of lock ${lock} was told${other}`);
    }
  }
}
