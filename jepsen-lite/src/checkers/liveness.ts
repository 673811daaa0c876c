/** Once the faults are over and nothing new is asked, everything comes to its end: each call is answered, and nobody waits for a lock. */

import { callsOf, type EventOf } from '../history/calls.ts';
import type { History } from '../history/history.ts';
import { Findings } from './findings.ts';
import { nameOf } from './locks/holds.ts';
import { logInOrder } from './locks/log-order.ts';
import type { Verdict } from './verdict.ts';

export function checkLiveness(history: History): Verdict {
  const findings = new Findings('liveness', ['calls', 'answered', 'waited']);
  const quiet = history.some((event) => event.type === 'phase' && event.phase === 'quiet');
  const calls = callsOf(history);
  findings.count('calls', calls.length);
  findings.count('answered', calls.filter((call) => call.completion !== undefined).length);
  const waits = waitsOf(history);
  findings.count('waited', waits.total);
  if (!quiet) return findings.verdict(false);
  const last = history.at(-1);
  for (const { invoke, completion } of calls) {
    if (completion !== undefined) continue;
    findings.broken(`call ${invoke.call} (${invoke.f}) of ${invoke.process} was never answered`, invoke, last);
  }
  for (const wait of waits.open) {
    findings.broken(`session ${wait.session} still waits for lock ${wait.lock} (hold ${wait.hold})`, wait, last);
  }
  return findings.verdict(calls.length > 0);
}

/** Acquires that entered a queue and were neither granted nor taken out of it. */
function waitsOf(history: History): { readonly total: number; readonly open: readonly EventOf<'enqueued'>[] } {
  const open = new Map<string, EventOf<'enqueued'>>();
  let total = 0;
  for (const event of logInOrder(history)) {
    if (event.type === 'enqueued') {
      open.set(nameOf(event), event);
      total += 1;
    } else if (event.type !== 'ended-session') {
      open.delete(nameOf(event));
    }
  }
  return { total, open: [...open.values()] };
}
