/** Every call is invoked once and completed at most once, by its own process and with its own question: an answer is never taken back. */

import { isCompletion, type EventOf } from '../history/calls.ts';
import type { History, HistoryEvent } from '../history/history.ts';
import { Findings } from './findings.ts';
import type { Verdict } from './verdict.ts';

type Completion = EventOf<'ok'> | EventOf<'fail' | 'info'>;

interface Seen {
  readonly invoke: EventOf<'invoke'>;
  completion: Completion | undefined;
  cancelled: EventOf<'cancelled'> | undefined;
}

/** Fields that a completion may have otherwise than its invocation. */
const OWN_FIELDS = new Set(['seq', 'timeMs', 'type']);

export function checkCompletions(history: History): Verdict {
  const findings = new Findings('completions', ['invoked', 'ok', 'fail', 'info', 'open']);
  const calls = new Map<number, Seen>();
  for (const event of history) {
    if (event.type === 'invoke') {
      const seen = calls.get(event.call);
      if (seen !== undefined) findings.broken(`call ${event.call} was invoked twice`, seen.invoke, event);
      else calls.set(event.call, { invoke: event, completion: undefined, cancelled: undefined });
      findings.count('invoked');
    } else if (isCompletion(event)) {
      findings.count(event.type);
      complete(event, calls.get(event.call), findings);
    } else if (event.type === 'cancelled') {
      cancel(event, calls.get(event.call), findings);
    }
  }
  for (const seen of calls.values()) if (seen.completion === undefined) findings.count('open');
  return findings.verdict(calls.size > 0);
}

function complete(event: Completion, seen: Seen | undefined, findings: Findings<string>): void {
  if (seen === undefined) {
    findings.broken(`call ${event.call} was completed (${event.type}) and never invoked`, event);
    return;
  }
  if (seen.completion !== undefined) {
    const { type } = seen.completion;
    findings.broken(
      `call ${event.call} was answered ${type}, and then ${event.type}`,
      seen.invoke,
      seen.completion,
      event,
    );
    return;
  }
  seen.completion = event;
  const field = differingField(seen.invoke, event);
  if (field !== undefined) {
    findings.broken(
      `call ${event.call} was answered with another "${field}" than it was invoked with`,
      seen.invoke,
      event,
    );
  }
}

function cancel(event: EventOf<'cancelled'>, seen: Seen | undefined, findings: Findings<string>): void {
  const { completion, cancelled } = seen ?? {};
  if (seen?.invoke.f !== 'acquire') {
    findings.broken(`call ${event.call} was cancelled and is no acquire`, seen?.invoke, event);
  } else if (completion === undefined || completion.type === 'ok') {
    findings.broken(
      `acquire ${event.call} was cancelled before its caller was notified that it failed`,
      seen.invoke,
      completion,
      event,
    );
  } else if (cancelled !== undefined) {
    findings.broken(`the cancel of acquire ${event.call} came to its end twice`, cancelled, event);
  } else {
    seen.cancelled = event;
  }
}

function differingField(invoke: HistoryEvent, completion: HistoryEvent): string | undefined {
  const asked = invoke as unknown as Readonly<Record<string, unknown>>;
  const answered = completion as unknown as Readonly<Record<string, unknown>>;
  for (const field in asked) {
    if (answered[field] === asked[field] || OWN_FIELDS.has(field) || answered[field] === undefined) continue;
    // A list that was read from a file is equal, and another one.
    if (typeof asked[field] === 'object' && JSON.stringify(answered[field]) === JSON.stringify(asked[field])) continue;
    return field;
  }
  return undefined;
}
