/**
 * A group's configurations, one after another as the ensemble has them: who claims the group was in sync and leaves the in-sync set as it
 * is, under an epoch that is higher than all before; within an epoch the set changes by one replica, and is never less than a majority. So
 * consecutive sets have a replica in common, which has whatever was acknowledged.
 */

import type { EventOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { groupBy } from '../group.ts';
import type { Verdict } from '../verdict.ts';

type Configured = EventOf<'configured'>;
type Count = 'configurations' | 'claims' | 'changesOfPrimary' | 'joins' | 'removals';

export function checkConfigurations(history: History): Verdict {
  const findings = new Findings<Count>('configurations', [
    'configurations',
    'claims',
    'changesOfPrimary',
    'joins',
    'removals',
  ]);
  const configured = history.flatMap((event) => (event.type === 'configured' ? [event] : []));
  for (const [, ofGroup] of groupBy(configured, ({ group }) => group)) {
    const [first] = ofGroup;
    if (first !== undefined) checkGroup(ofGroup, Math.floor(first.inSync.length / 2) + 1, findings);
  }
  return findings.verdict(findings.counted('claims') > 0);
}

/** `majority`: of the replicas that begin in sync, which are the group. */
function checkGroup(configured: readonly Configured[], majority: number, findings: Findings<Count>): void {
  for (const [place, event] of configured.entries()) {
    findings.count('configurations');
    if (!event.inSync.includes(event.primary)) {
      findings.broken(`${nameOf(event)} has the primary ${event.primary}, which is not in sync`, event);
    }
    const before = configured[place - 1];
    if (before === undefined) continue;
    if (event.version !== before.version + 1) {
      findings.broken(`version ${event.version} of the configuration follows version ${before.version}`, before, event);
    }
    if (!before.inSync.some((replica) => event.inSync.includes(replica))) {
      const sets = `${before.inSync.join(', ')} and then ${event.inSync.join(', ')}`;
      findings.broken(`${nameOf(event)}: consecutive in-sync sets do not overlap: ${sets}`, before, event);
    } else if (event.epoch === before.epoch) checkChange(before, event, majority, findings);
    else checkClaim(before, event, findings);
  }
}

function checkClaim(before: Configured, event: Configured, findings: Findings<Count>): void {
  findings.count('claims');
  if (before.epoch > 0 && before.primary !== event.primary) findings.count('changesOfPrimary');
  if (event.epoch < before.epoch) {
    findings.broken(`${nameOf(event)}: the epoch goes down from ${before.epoch}`, before, event);
  }
  if (!before.inSync.includes(event.primary)) {
    findings.broken(`${nameOf(event)}: ${event.primary} claims the group, and was not in sync`, before, event);
  }
  if (event.inSync.toSorted().join() !== before.inSync.toSorted().join()) {
    findings.broken(`${nameOf(event)}: ${event.primary} claims the group with another in-sync set`, before, event);
  }
}

function checkChange(before: Configured, event: Configured, majority: number, findings: Findings<Count>): void {
  const joined = event.inSync.filter((replica) => !before.inSync.includes(replica));
  const removed = before.inSync.filter((replica) => !event.inSync.includes(replica));
  findings.count('joins', joined.length);
  findings.count('removals', removed.length);
  if (event.primary !== before.primary) {
    findings.broken(`${nameOf(event)}: the primary was ${before.primary} in the same epoch`, before, event);
  }
  if (joined.length + removed.length !== 1) {
    findings.broken(`${nameOf(event)}: the in-sync set does not change by one replica`, before, event);
  }
  if (removed.length > 0 && event.inSync.length < majority) {
    findings.broken(
      `${nameOf(event)}: the in-sync set is less than ${majority}, a majority of the group`,
      before,
      event,
    );
  }
}

function nameOf({ version, epoch }: Configured): string {
  return `configuration ${version} in epoch ${epoch}`;
}
