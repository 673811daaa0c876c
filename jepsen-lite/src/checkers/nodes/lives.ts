/**
 * What a history tells of nodes that go by themselves, each with a name that no other node ever has: when it was made, changed and given
 * children, when it was seen, and when it was seen to be gone. Nobody deletes such a node; its children are deleted by clients alone.
 */

import { callsOf, type Call } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { nodeBelow } from '../../history/unused-nodes.ts';

type Named = 'create' | 'set' | 'delete' | 'read';
type NodeCall = Call<Named>;

/** An answer, and the call for it: what it shows was so at some moment between the two. */
export interface Sight {
  readonly call: HistoryEvent;
  readonly answer: HistoryEvent;
}

interface Child {
  readonly path: string;
  /** Undefined where nobody can tell whether it was created. */
  readonly made: Sight | undefined;
  /** Of each delete that may have been done: when it was asked for. */
  readonly deletes: HistoryEvent[];
  /** From then on it is gone, as a client was told. */
  gone: Sight | undefined;
}

export interface Life {
  readonly path: string;
  readonly made: Sight;
  readonly ttlMs: number | undefined;
  /** Done; the creation is the first. */
  readonly changes: Sight[];
  /** Nobody can tell whether these were done, or when: its creation is none of them. */
  readonly unsure: HistoryEvent[];
  readonly children: Map<string, Child>;
  readonly seen: Sight[];
  readonly missed: Sight[];
}

/** Of the nodes below that one whose creation was acknowledged, and of the children of each, in the order of their creation. */
export function livesBelow(parent: string, history: History): Life[] {
  const lives = new Map<string, Life>();
  const calls = callsOf(history, 'create', 'set', 'delete', 'read').flatMap((call) => {
    const node = nodeBelow(parent, call.invoke.path);
    return node === undefined ? [] : [{ node, call }];
  });
  for (const { node, call } of calls) {
    const { invoke, completion } = call;
    if (invoke.f !== 'create' || invoke.path !== node || completion?.type !== 'ok') continue;
    const made = { call: invoke, answer: completion };
    const life = { path: node, made, ttlMs: invoke.ttlMs, changes: [made], unsure: [], seen: [], missed: [] };
    if (!lives.has(node)) lives.set(node, { ...life, children: new Map() });
  }
  for (const { node, call } of calls) {
    const life = lives.get(node);
    if (life === undefined) continue;
    if (call.invoke.path === node) note(life, call);
    else noteChild(life, call);
  }
  return [...lives.values()];
}

function note(life: Life, { invoke, completion }: NodeCall): void {
  const isDone = completion?.type === 'ok';
  if (completion?.type !== 'ok' && completion?.type !== 'fail') {
    if (invoke.f === 'set') life.unsure.push(invoke);
    return;
  }
  const sight = { call: invoke, answer: completion };
  if (invoke.f === 'set' && isDone) life.changes.push(sight);
  const isMissing =
    (completion.type === 'fail' && completion.code === 'NOT_FOUND') ||
    (completion.type === 'ok' && completion.f === 'read' && completion.value === null);
  if (isMissing) life.missed.push(sight);
  else if (isDone && (invoke.f === 'set' || invoke.f === 'read')) life.seen.push(sight);
}

function noteChild(life: Life, { invoke, completion }: NodeCall): void {
  const { path } = invoke;
  const sight = completion === undefined ? undefined : { call: invoke, answer: completion };
  if (invoke.f === 'create') {
    if (completion?.type === 'fail' && completion.code === 'NOT_FOUND' && sight !== undefined) life.missed.push(sight);
    if (completion?.type === 'fail') return;
    const made = completion?.type === 'ok' ? sight : undefined;
    life.children.set(path, { path, made, deletes: [], gone: undefined });
    if (made !== undefined) life.seen.push(made);
    return;
  }
  const child = life.children.get(path);
  if (child === undefined) return;
  if (invoke.f === 'delete' && completion?.type !== 'fail') child.deletes.push(invoke);
  const isGone =
    (invoke.f === 'delete' && completion?.type === 'ok') ||
    (completion?.type === 'fail' && completion.code === 'NOT_FOUND') ||
    (completion?.type === 'ok' && completion.f === 'read' && completion.value === null);
  // Whoever was never told that it was made may be told that it is not there, and it comes up yet.
  if (isGone && child.made !== undefined) child.gone ??= sight;
}

/** A child that was there at that moment for sure: it had been made, and nobody had asked for its end before the answer. */
export function childAt({ children }: Life, { call, answer }: Sight): Child | undefined {
  for (const child of children.values()) {
    if (child.made === undefined || child.made.answer.seq > call.seq) continue;
    if (!child.deletes.some(({ seq }) => seq < answer.seq)) return child;
  }
  return undefined;
}

/** When the node had no child any more; its creation where it never had one; undefined while it may have one. */
export function emptySince({ children, made }: Life, at: Sight): Sight | undefined {
  let since = made;
  for (const { made: birth, gone } of children.values()) {
    if (birth !== undefined && birth.call.seq > at.answer.seq) continue;
    if (birth === undefined || gone === undefined || gone.answer.seq > at.call.seq) return undefined;
    if (gone.answer.seq > since.answer.seq) since = gone;
  }
  return since;
}
