/** What happened, in words: each kind of event as a sentence, and a call with what became of it as one. */

import { duration } from '../timeline/ticks.ts';
import type { Call } from '../../history/calls.ts';
import type { ExpectedKey, HistoryEvent, Operation, TransactionStep } from '../../history/history.ts';
import { quoted, visible } from './text.ts';

/** Whose session is meant. */
export type ClientOf = (session: number) => string | undefined;

/** `acquire lock-0`, `write “5:1” to lock-2/n with token 5`. */
export function asked(operation: Operation): string {
  switch (operation.f) {
    case 'acquire':
      return `acquire ${visible(operation.lock)}${wanted(operation)}${waiting(operation.waitMs)}${delayed(operation.delayMs)}`;
    case 'release':
      return `release ${visible(operation.lock)} (token ${operation.token})`;
    case 'downgrade':
      return `go on reading under ${visible(operation.lock)} (token ${operation.token})`;
    case 'enter':
      return `enter ${visible(operation.lock)} as ${visible(operation.owner)}${waiting(operation.waitMs)}`;
    case 'leave':
      return `leave ${visible(operation.lock)} as ${visible(operation.owner)} (token ${operation.token})`;
    case 'fence':
      return `install token ${operation.token} at ${visible(operation.bucket)}`;
    case 'put':
      return `write ${quoted(operation.value)} to ${keyOf(operation)} with token ${operation.token}`;
    case 'get':
      return `read ${keyOf(operation)}${withToken(operation.token)}`;
    case 'kv-fence':
      return `install token ${operation.token} at ${visible(operation.bucket)} of the replicas`;
    case 'kv-get':
      return `read ${keyOf(operation)} of the replicas${withToken(operation.token)}`;
    case 'kv-put':
      return `write ${quoted(operation.value)} to ${keyOf(operation)} of the replicas${ifRevision(operation.expected)}${withToken(operation.token)}`;
    case 'kv-delete':
      return `delete ${keyOf(operation)} of the replicas${ifRevision(operation.expected)}${withToken(operation.token)}`;
    case 'create':
      return `create ${kindOf(operation)}${visible(operation.path)} with ${quoted(operation.value)}`;
    case 'set':
      return `set ${visible(operation.path)} to ${quoted(operation.value)}${ifVersion(operation.version)}`;
    case 'delete':
      return `delete ${visible(operation.path)}${ifVersion(operation.version)}`;
    case 'read':
      return `read ${visible(operation.path)}${operation.consistency === 'linearizable' ? '' : ` (${operation.consistency})`}`;
    case 'create-sequential':
      return `create a numbered ${visible(operation.path)} with ${quoted(operation.value)}`;
    case 'transaction':
      return `do all of this or nothing: ${operation.operations.map(stepOf).join(', ')}`;
    case 'list':
      return `list the children of ${visible(operation.path)}`;
    case 'status':
      return `ask who holds ${visible(operation.lock)}`;
  }
}

/** What the application was told; of an open call, that it was told nothing. */
export function answered({ completion }: Call): string {
  if (completion === undefined) return 'never answered';
  if (completion.type === 'ok') {
    if (completion.f === 'acquire' || completion.f === 'enter') return `granted, token ${completion.token}`;
    if (completion.f === 'get') return `saw ${quoted(completion.value)}`;
    if (completion.f === 'kv-get') return `saw ${quoted(completion.value)} in epoch ${completion.epoch}`;
    if ('epoch' in completion) return `done in epoch ${completion.epoch}`;
    if (completion.f === 'read') {
      return `saw ${quoted(completion.value)}${completion.version === undefined ? '' : `, version ${completion.version}`}`;
    }
    if (completion.f === 'create-sequential') return `done, as ${visible(completion.created)}`;
    if (completion.f === 'transaction') return `done at index ${completion.index}`;
    if (completion.f === 'list') return `saw ${quoted(completion.names?.join(' ') ?? null)}`;
    if (completion.f === 'status') {
      return completion.holder === null ? 'nobody' : `session ${completion.holder}, token ${completion.token}`;
    }
    if (completion.f === 'set' && completion.newVersion !== undefined) return `done, version ${completion.newVersion}`;
    return 'done';
  }
  const code = visible(completion.code);
  const highest = completion.highest === undefined ? '' : ` (the highest is ${completion.highest})`;
  const place = completion.place === undefined ? '' : ` (operation ${completion.place})`;
  return `${completion.type === 'fail' ? 'no effect' : 'nobody can tell'}: ${code}${place}${highest}`;
}

function kindOf({ ttlMs, container }: Extract<Operation, { readonly f: 'create' }>): string {
  if (ttlMs !== undefined) return `for ${duration(ttlMs)} without use `;
  return container === true ? 'the container ' : '';
}

function stepOf(step: TransactionStep): string {
  const path = visible(step.path);
  switch (step.op) {
    case 'check':
      return `check that ${path} has version ${step.version}`;
    case 'create':
      return `create ${step.sequential === true ? 'a numbered ' : ''}${path} with ${quoted(step.value)}`;
    case 'set':
      return `set ${path} to ${quoted(step.value)}${ifVersion(step.version)}`;
    case 'remove':
      return `delete ${path}${ifVersion(step.version)}`;
  }
}

export function sentenceOfCall(call: Call): string {
  const { invoke, completion } = call;
  const who = visible(invoke.process);
  const session = 'session' in invoke && invoke.session !== undefined ? ` in session ${invoke.session}` : '';
  const begun = `${who}${session} asks to ${asked(invoke)}`;
  if (completion === undefined) return `${begun}. It is never answered.`;
  const after = duration(completion.timeMs - invoke.timeMs);
  if (completion.type === 'ok') return `${begun}. After ${after}: ${answered(call)}.`;
  if (completion.type === 'fail') return `${begun}. After ${after} it is told that it had ${answered(call)}.`;
  return `${begun}. After ${after} it is told that ${answered(call)}; it may still take effect.`;
}

export function sentenceOf(event: HistoryEvent, clientOf: ClientOf): string {
  const who = visible(event.process);
  switch (event.type) {
    case 'invoke':
      return `${who} asks to ${asked(event)}.`;
    case 'ok':
    case 'fail':
    case 'info':
      return `${who}, which asked to ${asked(event)}, is told: ${answered({ invoke: event as never, completion: event } as Call)}.`;
    case 'session':
      if (event.event === 'connected') return `${who} begins session ${event.session}${timeout(event.timeoutMs)}.`;
      if (event.event === 'reconnected') return `${who} has a connection for session ${event.session} again.`;
      return `${who} is told that session ${event.session} ${event.event === 'expired' ? 'has expired' : 'is closed'}.`;
    case 'renewed':
      return `${who} hears that session ${event.session} was renewed.`;
    case 'believe':
      return `${who} asks its client whether it still holds ${visible(event.lock)} (token ${event.token}), and it does.`;
    case 'lost':
      return `${who} is told that it has lost ${visible(event.lock)} (token ${event.token}): ${event.reason}.`;
    case 'watched':
      if (event.event === 'started') return `${who} watches ${visible(event.path)} from index ${event.index} on.`;
      if (event.event === 'resync')
        return `${who} is told that it has missed what happened below ${visible(event.path)} up to index ${event.index}.`;
      if (event.event === 'left') return `${who} watches ${visible(event.path)} no longer.`;
      return `${who} is told that ${visible(event.path)} was ${event.event} at index ${event.index}.`;
    case 'shown':
      return `${who} is shown by a ${event.by} that ${visible(event.path)} has changed at index ${event.index}.`;
    case 'cancelled':
      return `The cancel of call ${event.call} of ${who} has come to its end.`;
    case 'fault':
      return `The fault “${visible(event.fault)}” ${event.phase === 'begin' ? 'begins' : 'ends'}${onHosts(event.hosts)}.`;
    case 'kept':
      return `The replica ${who} has ${quoted(event.value)} at ${keyOf(event)}, of revision ${event.revision}.`;
    case 'kept-all':
      return `The replica ${who} has ${event.keys} keys in all.`;
    case 'phase':
      return `${PHASES[event.phase]}.`;
    case 'enqueued':
      return `Entry ${event.index}: ${session(event.session, clientOf)} enters the queue of ${visible(event.lock)}.`;
    case 'granted':
      return `Entry ${event.index}: ${visible(event.lock)} is granted to ${session(event.session, clientOf)} with token ${event.token}.`;
    case 'downgraded':
      return `Entry ${event.index}: ${session(event.session, clientOf)} goes on reading under ${visible(event.lock)} (hold ${event.hold}).`;
    case 'removed':
      return `Entry ${event.index}: ${session(event.session, clientOf)} leaves ${visible(event.lock)} (hold ${event.hold}): ${event.reason}.`;
    case 'ended-session':
      return `Entry ${event.index}: ${session(event.session, clientOf)} is ended: ${event.reason}.`;
    case 'configured':
      return `Entry ${event.index}: ${visible(event.group)} has the primary ${visible(event.primary)} in epoch ${event.epoch}, in sync ${event.inSync.map(visible).join(', ')}.`;
    case 'leadership':
      return `${who} ${event.phase === 'begin' ? 'leads' : 'no longer leads'} term ${event.term}.`;
    case 'accepted':
      return `The fenced store accepts token ${event.token} for ${visible(event.bucket)} (${event.f}).`;
  }
}

const PHASES = {
  faults: 'The faults begin',
  healed: 'Everything has healed',
  quiet: 'Clients begin nothing new',
} as const;

function session(number: number, clientOf: ClientOf): string {
  const client = clientOf(number);
  return client === undefined ? `session ${number}` : `session ${number} (${visible(client)})`;
}

function keyOf({ bucket, key }: { readonly bucket: string; readonly key: string }): string {
  return `${visible(bucket)}/${visible(key)}`;
}

function withToken(token: number | undefined): string {
  return token === undefined ? '' : ` with token ${token}`;
}

function ifRevision(expected: ExpectedKey | undefined): string {
  if (expected === undefined) return '';
  return expected.revision === null ? ' if there is none' : ` if it has revision ${expected.revision}`;
}

function wanted({ asked: request, others = [] }: Extract<Operation, { readonly f: 'acquire' }>): string {
  const beside = others.length === 0 ? '' : ` and with it ${others.map((lock) => visible(lock)).join(', ')}`;
  switch (request?.type) {
    case 'readWrite':
      return `${request.write ? ' to write' : ' to read'}${beside}`;
    case 'semaphore':
      return ` for ${request.permits} of ${request.limit} permits${beside}`;
    case 'mutex':
    case undefined:
      return beside;
  }
}

function waiting(waitMs: number | undefined): string {
  if (waitMs === undefined) return '';
  return waitMs === 0 ? ' without waiting' : `, waiting ${duration(waitMs)} at most`;
}

function delayed(delayMs: number | undefined): string {
  return delayMs === undefined ? '' : `, delaying it by ${duration(delayMs)} when it is lost`;
}

function ifVersion(version: number | undefined): string {
  return version === undefined || version === -1 ? '' : ` if it has version ${version}`;
}

function timeout(ms: number | undefined): string {
  return ms === undefined ? '' : `, which expires after ${duration(ms)}`;
}

function onHosts(hosts: string | undefined): string {
  return hosts === undefined ? '' : ` on ${visible(hosts)}`;
}
