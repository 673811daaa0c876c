/** A path of the search as what happened to servers that keep their names, whatever places they had in the canonical worlds. */

import { composed, inverse, placed, renamedAction } from './world/permutations.ts';
import type { Broken, ServerTable, TakenStep } from './server/server-table.ts';
import type { Transition, Worlds } from './world/worlds.ts';

export interface TraceStep extends TakenStep {
  readonly position: number;
  readonly kept: boolean;
  /** Messages that are under way no longer, since there were too many. */
  readonly lost: readonly number[];
  readonly broken: Broken | undefined;
}

/** @throws RangeError for a path that these worlds do not have */
export function retrace(worlds: Worlds, path: readonly number[]): TraceStep[] {
  const identity = worlds.permutations[0] ?? [];
  const steps: TraceStep[] = [];
  let world = worlds.first();
  // From the places that servers had at the beginning to those in `world`.
  let places = identity;
  for (const ordinal of path) {
    const { transition, messages, permutation, next } = successorAt(worlds, world, ordinal);
    const back = worlds.numberOf(inverse(places));
    if (transition.broken !== undefined) {
      steps.push(lastStep(worlds, worlds.renamed(world, back), transition.broken.law));
      break;
    }
    const named = worlds.renamed(world, back);
    const message = transition.action === undefined ? worlds.table.renamedMessage(transition.message, back) : -1;
    const position = placed(transition.position, inverse(places));
    const action = transition.action === undefined ? undefined : renamedAction(transition.action, inverse(places));
    const before = named[position] ?? 0;
    const step = action === undefined ? worlds.table.hear(before, message) : worlds.table.act(before, action);
    const left = new Set(messages.map((each) => worlds.table.renamedMessage(each, back)));
    const candidates = [...named.slice(worlds.servers + 2), ...step.sent];
    const lost = candidates.filter((each) => !left.has(each) && (each !== message || transition.kept));
    steps.push({ position, action, message, kept: transition.kept, before, step, lost, broken: undefined });
    world = next;
    places = composed(places, worlds.permutations[permutation] ?? identity);
  }
  return steps;
}

/** Of one server alone, up to a step that breaks something. */
export function storyOf(table: ServerTable, last: TakenStep, broken: Broken): TraceStep[] {
  const { position } = table.known(last.before);
  const steps: TraceStep[] = [{ ...last, position, kept: false, lost: [], broken }];
  for (let taken = table.origin(last.before); taken !== undefined; taken = table.origin(taken.before)) {
    steps.unshift({ ...taken, position, kept: false, lost: [], broken: undefined });
  }
  return steps;
}

interface Successor {
  readonly transition: Transition;
  readonly messages: readonly number[];
  readonly permutation: number;
  readonly next: readonly number[];
}

function successorAt(worlds: Worlds, world: readonly number[], ordinal: number): Successor {
  let found: Successor | undefined;
  let at = 0;
  worlds.successors(world, (next, transition, messages, permutation) => {
    if (at === ordinal) found = { transition, messages, permutation, next: [...next] };
    at += 1;
  });
  if (found === undefined) throw new RangeError(`a world has no successor ${ordinal}`);
  return found;
}

/** Which of several that break the law does not matter. */
function lastStep(worlds: Worlds, world: readonly number[], law: string): TraceStep {
  let found: TraceStep | undefined;
  worlds.successors(world, (_, { position, action, message, kept, step, broken }) => {
    if (broken?.law !== law) return;
    found ??= { position, action, message, kept, before: world[position] ?? 0, step, lost: [], broken };
  });
  if (found === undefined) throw new RangeError(`nothing breaks ${law} here`);
  return found;
}
