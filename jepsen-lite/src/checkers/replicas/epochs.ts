/**
 * Epochs of answers never go down: who asks after anybody was answered in an epoch is answered in that one or a later one. Every epoch is
 * one that a replica has claimed, as far as the log tells.
 */

import { isCompletion } from '../../history/calls.ts';
import type { History, HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import type { Verdict } from '../verdict.ts';

type Answer = Extract<HistoryEvent, { readonly type: 'ok'; readonly epoch: number }>;

export function checkEpochs(history: History): Verdict {
  const findings = new Findings('epochs', ['answers', 'epochs']);
  const claimed = new Set(history.flatMap((event) => (event.type === 'configured' ? event.epoch : [])));
  const seen = new Set<number>();
  /** The answer with the highest epoch so far, and of each open call the one when it was made. */
  let highest: Answer | undefined;
  const before = new Map<number, Answer | undefined>();
  for (const event of history) {
    if (event.type === 'invoke') before.set(event.call, highest);
    if (!isCompletion(event)) continue;
    const told = before.get(event.call);
    before.delete(event.call);
    if (event.type !== 'ok' || !('epoch' in event)) continue;
    findings.count('answers');
    if (told !== undefined && event.epoch < told.epoch) {
      findings.broken(
        `${event.process} asked (${event.f}) after an answer in epoch ${told.epoch}, and was answered in ${event.epoch}`,
        told,
        event,
      );
    }
    if (highest === undefined || event.epoch > highest.epoch) highest = event;
    if (seen.has(event.epoch)) continue;
    seen.add(event.epoch);
    findings.count('epochs');
    if (claimed.size > 0 && !claimed.has(event.epoch)) {
      findings.broken(`${event.process} was answered in epoch ${event.epoch}, which no replica has claimed`, event);
    }
  }
  return findings.verdict(findings.counted('answers') > 0);
}
