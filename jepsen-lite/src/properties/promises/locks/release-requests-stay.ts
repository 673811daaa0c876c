/**
 * That a holder is asked to release its hold stays with the hold: told to its session, shown at each of its locks, taken over by the next request, and
 * gone with the hold. When its time is over the hold is revoked if it is to be, and if it is still that request's.
 */

import { lockNameProblem, type Command, type ReleaseRequest, type Reply } from '@holdfast/protocol';

import { demand } from '../../demand.ts';
import { LIMITS } from '../../limits.ts';
import { requestLength } from '../../models/request-bytes.ts';
import { leads } from '../../observation/acquires.ts';
import { difference } from '../../observation/difference.ts';
import { appliedCommand, errorCode, outputsOf, type Step } from '../../observation/step.ts';
import { allAcquires } from '../../observation/view.ts';
import type { StatePromise } from '../../state-promise.ts';

/** Since which state version there are such requests. */
const SINCE = 5;

type Asked = Extract<Command, { readonly type: 'requestRelease' }>;

export function releaseRequestsStay(): StatePromise {
  /** By acquire index. */
  const requests = new Map<number, ReleaseRequest>();
  let stamp = 0;
  return {
    name: 'a request to release stays with its hold',
    observe(step) {
      const { input, after } = step;
      if (input.type !== 'noop' && input.type !== 'unsupported') stamp = Math.max(stamp, step.stamp);
      const applied = appliedCommand(step);
      if (applied?.command.type === 'requestRelease') {
        const { command, reply, session } = applied;
        const request = answered(step, { command, reply, session, stamp });
        if (request !== undefined) requests.set(command.acquireIndex, request);
      } else {
        const told = outputsOf(step.outputs, 'releaseRequested');
        demand(
          told.length === 0,
          () => `a session was asked to release, and nobody has asked: ${JSON.stringify(told)}`,
        );
      }
      if (input.type === 'enforce') enforced(step, input.command, requests);
      const present = new Set(allAcquires(after).map(({ acquireIndex }) => acquireIndex));
      for (const acquireIndex of requests.keys()) if (!present.has(acquireIndex)) requests.delete(acquireIndex);
      for (const { lock, acquireIndex, releaseRequest } of allAcquires(after)) {
        const wrong = difference(releaseRequest, requests.get(acquireIndex));
        demand(wrong === undefined, () => `of acquire ${acquireIndex} at lock ${lock} is shown as asked for${wrong}`);
      }
    },
  };
}

interface Asking {
  readonly command: Asked;
  readonly reply: Reply;
  readonly session: number;
  readonly stamp: number;
}

/** Undefined where it was refused. */
function answered(step: Step, { command, reply, session, stamp }: Asking): ReleaseRequest | undefined {
  const { before, index, outputs } = step;
  const { lock, acquireIndex, withinMs, revokes } = command;
  const hold = before.queues.get(lock)?.find((entry) => entry.acquireIndex === acquireIndex && entry.token !== 0);
  const by = before.sessions.get(session)?.label ?? '';
  const request = { index, askedAt: stamp, withinMs, revokes, by };
  const isFull = before.counts.dataBytes + requestLength(request) > LIMITS.maxTreeDataBytes;
  const refusal =
    before.stateVersion < SINCE
      ? 'UNSUPPORTED'
      : lockNameProblem(lock) !== undefined
        ? 'INVALID_ARGUMENT'
        : hold === undefined
          ? 'NOT_FOUND'
          : isFull
            ? 'LIMIT_EXCEEDED'
            : undefined;
  demand(
    refusal === undefined ? reply.type === 'done' : errorCode(reply) === refusal,
    () =>
      `${JSON.stringify(command)} was to be answered ${refusal ?? 'done'}, and was answered ${JSON.stringify(reply)}`,
  );
  const told = outputsOf(outputs, 'releaseRequested');
  const [lead] = leads(allAcquires(before).filter((entry) => entry.acquireIndex === acquireIndex));
  const type = 'releaseRequested';
  const expected =
    refusal === undefined ? [{ type, session: hold?.session, lock: lead?.lock, acquireIndex, request }] : [];
  const wrong = difference(told, expected);
  demand(wrong === undefined, () => `of what is to be released was reported${wrong}`);
  return refusal === undefined ? request : undefined;
}

function enforced(
  { before, after, outputs }: Step,
  command: Extract<Command, { readonly type: 'enforceRelease' }> | undefined,
  requests: ReadonlyMap<number, ReleaseRequest>,
): void {
  const decided = outputsOf(outputs, 'releaseEnforced').map(({ request }) => request);
  const wrong = difference(decided, command === undefined ? [] : [command.request]);
  demand(wrong === undefined, () => `of requests whose time is over was reported${wrong}`);
  if (command === undefined) return;
  const { lock, acquireIndex, request } = command;
  const has = (view: Step['before']): boolean =>
    view.queues.get(lock)?.some((entry) => entry.acquireIndex === acquireIndex && entry.token !== 0) === true;
  const present = requests.get(acquireIndex);
  const ends = has(before) && present?.index === request && present.revokes;
  demand(
    !has(before) || has(after) === !ends,
    () => `acquire ${acquireIndex}, asked for by ${JSON.stringify(present)}, ${ends ? 'stays' : 'went'}`,
  );
}
