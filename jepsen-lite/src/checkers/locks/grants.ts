/** What was reported to an acquire, the servers did: they granted that hold of that lock to that session under that token before. */

import { okCallsOf } from '../../history/calls.ts';
import type { History } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import { grantsOf } from './log-order.ts';
import type { Verdict } from '../verdict.ts';

export function checkGrants(history: History): Verdict {
  const findings = new Findings('grants', ['granted', 'reported']);
  const grants = grantsOf(history);
  findings.count('granted', grants.length);
  const byHold = new Map(grants.map((grant) => [`${grant.hold} ${grant.lock}`, grant]));
  const reported = okCallsOf(history, 'acquire', 'enter');
  findings.count('reported', reported.length);
  if (grants.length === 0) return findings.verdict(false);
  for (const { ok } of reported) {
    const { lock, session, hold, token } = ok;
    const grant = byHold.get(`${hold} ${lock}`);
    if (grant === undefined) {
      findings.broken(
        `session ${session} was notified that it has ${lock} (hold ${hold}), which was never granted`,
        ok,
      );
    } else if (grant.seq > ok.seq) {
      findings.broken(
        `session ${session} was notified that it has ${lock} before any server had granted it`,
        ok,
        grant,
      );
    } else if (grant.session !== session) {
      findings.broken(
        `session ${session} was notified of a hold of ${lock} that session ${grant.session} has`,
        grant,
        ok,
      );
    } else if (grant.token !== token) {
      findings.broken(
        `session ${session} was notified of token ${token} of ${lock}, granted was ${grant.token}`,
        grant,
        ok,
      );
    }
  }
  return findings.verdict(reported.length > 0);
}
