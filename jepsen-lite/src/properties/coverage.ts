/** How often which command had which outcome, so that runs that never came near a promise are seen. */

import { lockKinds } from '@holdfast/protocol';

import { freshReply, outputsOf, type Step } from './observation/step.ts';
import type { RequestInput } from './observation/input.ts';
import { takenAway } from './observation/taken-away.ts';
import { allAcquires } from './observation/view.ts';

/** By "what: outcome". */
export type Coverage = Readonly<Record<string, number>>;

export class CoverageCounter {
  readonly #counts = new Map<string, number>();

  count(step: Step): void {
    this.#add(outcomeOf(step));
    for (const [group, size] of grantGroups(step)) if (size > 0) this.#add(group, size);
    const lost = outputsOf(step.outputs, 'lost');
    if (lost.some(({ reason }) => reason !== 'deadlock')) this.#add('a hold or wait: revoked');
    if (lost.some(({ reason }) => reason === 'deadlock')) this.#add('a wait: ended in a deadlock');
    if (takenAway(step).length > 1) this.#add('a transaction: revoked several');
    if (outputsOf(step.outputs, 'floorRaised').length > 0) this.#add('a floor: rose');
    if (outputsOf(step.outputs, 'contended').length > 0) this.#add('holders: others wait');
    for (const { lock } of outputsOf(step.outputs, 'lockDelayed')) {
      this.#add(step.before.delays.has(lock) ? 'a lock: delayed for longer' : 'a lock: delayed');
    }
    for (const { session } of outputsOf(step.outputs, 'sessionEnded')) {
      const own = allAcquires(step.before).filter((acquire) => acquire.session === session);
      if (own.some(({ token }) => token !== 0)) this.#add('a session: ended with holds');
      if (own.some(({ token }) => token === 0)) this.#add('a session: ended with waits');
      if (step.before.summaries.some((summary) => summary.session === session && summary.ephemerals > 0)) {
        this.#add('a session: ended with nodes');
      }
    }
  }

  get coverage(): Coverage {
    return Object.fromEntries([...this.#counts].sort(([left], [right]) => (left < right ? -1 : 1)));
  }

  #add(name: string, more = 1): void {
    this.#counts.set(name, (this.#counts.get(name) ?? 0) + more);
  }
}

/** Grants of one entry: to one who waited, to several locks' waiters at once, and to several who hold one lock together. */
function grantGroups({ outputs, changes, before }: Step): [string, number][] {
  const granted = outputsOf(outputs, 'granted');
  const locks = granted.map(({ lock }) => lock);
  const beside = changes.filter(
    (change) =>
      change.type === 'enqueued' &&
      change.token !== 0 &&
      before.queues.get(change.lock)?.some(({ token }) => token !== 0) === true,
  );
  return [
    ['a wait: granted later', granted.length],
    ['an entry: granted several locks', new Set(locks).size > 1 ? 1 : 0],
    ['an entry: granted one lock to several', new Set(locks).size < locks.length ? 1 : 0],
    ['an acquire: holds beside others', beside.length],
  ];
}

function outcomeOf(step: Step): string {
  const { input, outputs } = step;
  switch (input.type) {
    case 'noop':
      return 'noop: applied';
    case 'unsupported':
      return 'unsupported entry: refused';
    case 'expire':
      return `expireSession: ${outputsOf(outputs, 'sessionEnded').length > 0 ? 'ended a session' : outputsOf(outputs, 'sessionEnding').length > 0 ? 'began to end one' : 'without effect'}`;
    case 'continue':
      return `continueEnd: ${outputsOf(outputs, 'sessionEnded').length > 0 ? 'ended a session' : 'removed some, or nothing'}`;
    case 'unused':
      return `removeUnused: ${outputsOf(outputs, 'unusedRemoved').some(({ nodes }) => nodes > 0) ? 'removed some' : 'removed none'}`;
    case 'endDelay':
      return `endLockDelay: ${outputsOf(outputs, 'lockDelayEnded').length > 0 ? 'ended a delay' : 'without effect'}`;
    case 'enforce':
      return `enforceRelease: ${outputsOf(outputs, 'lost').some(({ reason }) => reason === 'revoked') ? 'revoked' : 'without effect'}`;
    case 'raise':
      return `raiseStateVersion: ${input.command === undefined ? 'malformed' : 'applied'}`;
    case 'attach': {
      const reply = outputsOf(outputs, 'attached')[0]?.reply;
      if (reply?.type === 'error') return `attach: ${reply.code}`;
      return `attach: ${outputsOf(outputs, 'sessionCreated').length > 0 ? 'began a session' : 'found its session'}`;
    }
    case 'request':
      return requestOutcome(step, input);
  }
}

function nameOf({ command, name }: RequestInput): string {
  if (name === undefined) return 'an unknown command';
  if (command === undefined) return `malformed ${name}`;
  const kind = command.type === 'acquire' ? lockKinds.nameOf(command.kind) : undefined;
  return kind === undefined || kind === 'mutex' ? name : `${name} ${kind}`;
}

function requestOutcome(step: Step, input: RequestInput): string {
  const [refused] = outputsOf(step.outputs, 'refused');
  if (refused !== undefined) {
    if (refused.code !== 'OUT_OF_ORDER') return `a request: refused ${refused.code}`;
    return `a request: refused as ${input.number > refused.lastApplied ? 'a gap' : 'a stale copy'}`;
  }
  const name = nameOf(input);
  const fresh = freshReply(step);
  const reply = fresh ?? outputsOf(step.outputs, 'reply')[0]?.reply;
  if (reply === undefined) return `${name}: unanswered`;
  const said =
    reply.type === 'error' || reply.type === 'transactionFailed'
      ? reply.code
      : reply.type === 'acquire'
        ? reply.token === 0
          ? 'waits'
          : 'holds'
        : reply.type;
  return fresh === undefined ? `${name} again: ${said}` : `${name}: ${said}`;
}
