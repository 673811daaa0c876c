/**
 * Nothing that was appended to a list is lost, whatever the servers have been through: every append that was acknowledged is in each list
 * that is read later, exactly once; one that was refused is in none. All that was ever seen of a list is one list and its beginnings, and
 * nobody sees less of it than was known before. Lists that nobody has read after the last append are not judged to the end.
 */

import { callsOf, type CompletionOf, type InvokeOf } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { appendedBy, elementsOf, isListPath, isPrefix, lengthOf, type ListCall } from '../../history/list-nodes.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import type { Verdict } from '../verdict.ts';

type Count = 'lists' | 'appends' | 'unknown' | 'reads' | 'readToTheEnd' | 'notReadToTheEnd';

/** The list was just this at some moment between the two events. */
interface Seen {
  readonly list: string;
  readonly invoke: HistoryEvent;
  readonly completion: HistoryEvent;
}

export function checkListAppend(history: History): Verdict {
  const findings = new Findings<Count>('list-append', [
    'lists',
    'appends',
    'unknown',
    'reads',
    'readToTheEnd',
    'notReadToTheEnd',
  ]);
  const calls = callsOf(history, 'create', 'set', 'read').filter(({ invoke }) => isListPath(invoke.path));
  for (const [path, ofList] of groupBy(calls, ({ invoke }) => invoke.path)) checkList(path, ofList, findings);
  return findings.verdict(findings.counted('appends') > 0 && findings.counted('notReadToTheEnd') === 0);
}

function checkList(path: string, calls: readonly ListCall[], findings: Findings<Count>): void {
  const seen = calls.flatMap((call) => seenBy(call) ?? []);
  const longest = seen.reduce<Seen | undefined>(
    (best, each) => (best === undefined || each.list.length > best.list.length ? each : best),
    undefined,
  );
  const appends = calls.flatMap(({ invoke, completion }) => (invoke.f === 'set' ? { invoke, completion } : []));
  if (appends.length === 0 || longest === undefined) return;
  findings.count('lists');
  findings.count('appends', appends.filter(({ completion }) => completion?.type === 'ok').length);
  findings.count('unknown', appends.filter(({ completion }) => (completion?.type ?? 'info') === 'info').length);
  checkBranches(path, seen, longest, findings);
  checkElements(path, longest, new Map(appends.map((call) => [appendedBy(call.invoke), call])), findings);
  checkLosses(path, seen, findings);
  checkEnd(calls, findings);
}

function seenBy({ invoke, completion }: ListCall): Seen | undefined {
  if (completion?.type !== 'ok') return undefined;
  switch (completion.f) {
    case 'create':
    case 'set':
      return { list: completion.value, invoke, completion };
    case 'read':
      // One that is not there has no elements.
      return completion.consistency === 'linearizable'
        ? { list: completion.value ?? '', invoke, completion }
        : undefined;
  }
}

/** All of them are beginnings of the longest. */
function checkBranches(path: string, seen: readonly Seen[], longest: Seen, findings: Findings<Count>): void {
  for (const { list, completion } of seen) {
    if (isPrefix(list, longest.list)) continue;
    const [one, other] = [elementsOf(list), elementsOf(longest.list)];
    const place = one.findIndex((element, n) => element !== other[n]);
    findings.broken(
      `${path}: its element ${place + 1} was "${one[place]}" to one, and "${other[place]}" to another`,
      completion,
      longest.completion,
    );
  }
}

interface Append {
  readonly invoke: InvokeOf<'set'>;
  readonly completion: CompletionOf<'set' | 'create' | 'read'> | undefined;
}

function checkElements(
  path: string,
  { list, completion: witness }: Seen,
  appends: ReadonlyMap<string, Append>,
  findings: Findings<Count>,
): void {
  const met = new Set<string>();
  for (const element of elementsOf(list)) {
    const append = appends.get(element);
    if (met.has(element))
      findings.broken(`${path}: "${element}" was appended once, and is in it twice`, append?.invoke, witness);
    met.add(element);
    if (append === undefined) {
      findings.broken(`${path}: it has "${element}", which nobody has appended`, witness);
    } else if (append.completion?.type === 'fail') {
      findings.broken(
        `${path}: the append of "${element}" was refused (${append.completion.code}), and it is there`,
        append.completion,
        witness,
      );
    }
  }
}

/** Nobody sees less than was known when the call was made. */
function checkLosses(path: string, seen: readonly Seen[], findings: Findings<Count>): void {
  const ended = seen.toSorted((left, right) => left.completion.seq - right.completion.seq);
  const begun = seen.toSorted((left, right) => left.invoke.seq - right.invoke.seq);
  let known: (Seen & { readonly length: number }) | undefined;
  let place = 0;
  for (const { list, invoke, completion } of begun) {
    for (let next = ended[place]; next !== undefined && next.completion.seq < invoke.seq; next = ended[place]) {
      const length = lengthOf(next.list);
      if (known === undefined || length > known.length) known = { ...next, length };
      place += 1;
    }
    if (completion.type === 'ok' && completion.f === 'read') findings.count('reads');
    if (known === undefined || known.list === list || lengthOf(list) >= known.length) continue;
    const lost = elementsOf(known.list).slice(lengthOf(list));
    findings.broken(
      `${path}: "${lost.at(-1)}", its element ${known.length}, was there before and is lost: a later call saw ${lengthOf(list)} elements`,
      known.completion,
      invoke,
      completion,
    );
  }
}

/** A read that began after the last append had been answered shows what is left of all of them. */
function checkEnd(calls: readonly ListCall[], findings: Findings<Count>): void {
  let lastAppend = 0;
  let lastRead = 0;
  for (const { invoke, completion } of calls) {
    if (completion?.type !== 'ok') continue;
    if (completion.f === 'set') lastAppend = Math.max(lastAppend, completion.seq);
    else if (completion.f === 'read' && completion.consistency === 'linearizable')
      lastRead = Math.max(lastRead, invoke.seq);
  }
  if (lastAppend > 0) findings.count(lastRead > lastAppend ? 'readToTheEnd' : 'notReadToTheEnd');
}
