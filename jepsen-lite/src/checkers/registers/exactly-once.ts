/**
 * Every call that creates a sequential node creates one, however often it was sent: a call that was acknowledged has a number of its own,
 * which is higher than all that were known when it began, and its node is in every later list. One of unknown outcome has made one node
 * at most, one that was refused none. Nothing is deleted, so that the numbers in a list have no gap.
 */

import { callsOf, type CompletionOf, type InvokeOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { nameOf, parentOf, parseSequential } from '../../history/sequential-nodes.ts';
import { Findings } from '../findings.ts';
import type { Verdict } from '../verdict.ts';

type Count = 'parents' | 'created' | 'unknown' | 'lists' | 'listedToTheEnd' | 'notListedToTheEnd';

interface Create {
  readonly invoke: InvokeOf<'create-sequential'>;
  readonly completion: CompletionOf<'create-sequential'> | undefined;
}

interface Listing {
  readonly invoke: InvokeOf<'list'>;
  readonly completion: CompletionOf<'list'>;
  readonly names: readonly string[];
}

interface Done {
  readonly invoke: InvokeOf<'create-sequential'>;
  readonly ok: CompletionOf<'create-sequential'>;
  readonly name: string;
  readonly number: number;
}

export function checkExactlyOnce(history: History): Verdict {
  const findings = new Findings<Count>('exactly-once', [
    'parents',
    'created',
    'unknown',
    'lists',
    'listedToTheEnd',
    'notListedToTheEnd',
  ]);
  const parents = new Map<string, { readonly creates: Create[]; readonly listings: Listing[] }>();
  const of = (path: string): { readonly creates: Create[]; readonly listings: Listing[] } => {
    const known = parents.get(path) ?? { creates: [], listings: [] };
    parents.set(path, known);
    return known;
  };
  for (const { invoke, completion } of callsOf(history, 'create-sequential', 'list')) {
    if (invoke.f === 'create-sequential') {
      of(parentOf(invoke.path)).creates.push({ invoke, completion: completion as Create['completion'] });
    } else if (completion?.type === 'ok' && completion.f === 'list') {
      of(invoke.path).listings.push({ invoke, completion, names: completion.names ?? [] });
    }
  }
  for (const [path, { creates, listings }] of parents) {
    if (creates.length === 0) continue;
    findings.count('parents');
    const done = doneOf(creates, findings);
    checkNumbers(path, done, findings);
    const asked = new Map(creates.map((create) => [nameOf(create.invoke.path), create]));
    for (const listing of listings) checkListing(path, listing, { asked, done }, findings);
    const last = Math.max(0, ...done.map(({ ok }) => ok.seq));
    const isListed = listings.some(({ invoke }) => invoke.seq > last);
    if (done.length > 0) findings.count(isListed ? 'listedToTheEnd' : 'notListedToTheEnd');
  }
  return findings.verdict(findings.counted('created') > 0 && findings.counted('notListedToTheEnd') === 0);
}

/** Acknowledged under a name that the call can have made. */
function doneOf(creates: readonly Create[], findings: Findings<Count>): Done[] {
  return creates.flatMap(({ invoke, completion }) => {
    if (completion === undefined || completion.type === 'info') findings.count('unknown');
    if (completion?.type !== 'ok') return [];
    findings.count('created');
    const name = nameOf(completion.created);
    const parts = parseSequential(name);
    if (parentOf(completion.created) === parentOf(invoke.path) && parts?.prefix === nameOf(invoke.path)) {
      return [{ invoke, ok: completion, name, number: parts.number }];
    }
    findings.broken(`the create of "${invoke.path}" was answered with "${completion.created}"`, invoke, completion);
    return [];
  });
}

/** Each has its own, and numbers rise in real time. */
function checkNumbers(path: string, done: readonly Done[], findings: Findings<Count>): void {
  const ended = done.toSorted((left, right) => left.ok.seq - right.ok.seq);
  const byNumber = new Map<number, Done>();
  let place = 0;
  let highest: Done | undefined;
  for (const each of done) {
    for (let next = ended[place]; next !== undefined && next.ok.seq < each.invoke.seq; next = ended[place]) {
      if (highest === undefined || next.number > highest.number) highest = next;
      place += 1;
    }
    const twin = byNumber.get(each.number);
    byNumber.set(each.number, each);
    if (twin !== undefined) {
      findings.broken(`${path}: two calls were answered with the number ${each.number}`, twin.ok, each.ok);
    } else if (highest !== undefined && each.number < highest.number) {
      findings.broken(
        `${path}: the number ${each.number} went to a call that began after ${highest.number} was reported`,
        highest.ok,
        each.invoke,
        each.ok,
      );
    }
  }
}

interface Known {
  /** By prefix. */
  readonly asked: ReadonlyMap<string, Create>;
  readonly done: readonly Done[];
}

function checkListing(path: string, listing: Listing, { asked, done }: Known, findings: Findings<Count>): void {
  const { invoke, completion, names } = listing;
  findings.count('lists');
  const listed = new Set(names);
  for (const each of done) {
    if (each.ok.seq > invoke.seq || listed.has(each.name)) continue;
    findings.broken(`${path}: "${each.name}" was created and is lost`, each.ok, invoke, completion);
  }
  const byPrefix = new Map<string, string>();
  const numbers = new Set<number>();
  for (const name of names) {
    const parts = parseSequential(name);
    const call = parts === undefined ? undefined : asked.get(parts.prefix);
    if (parts === undefined || call === undefined || call.invoke.seq > completion.seq) {
      findings.broken(`${path}: it has "${name}", which nobody had asked for`, completion);
      continue;
    }
    numbers.add(parts.number);
    const twin = byPrefix.get(parts.prefix);
    byPrefix.set(parts.prefix, name);
    if (twin !== undefined) {
      findings.broken(
        `${path}: one call has created "${twin}" and "${name}"`,
        call.invoke,
        call.completion,
        completion,
      );
    } else if (call.completion?.type === 'fail') {
      findings.broken(
        `${path}: a create was refused (${call.completion.code}) and made "${name}"`,
        call.completion,
        completion,
      );
    }
  }
  for (let number = 0; number < numbers.size; number += 1) {
    if (numbers.has(number)) continue;
    findings.broken(`${path}: of ${names.length} children none has the number ${number}`, completion);
    return;
  }
}
