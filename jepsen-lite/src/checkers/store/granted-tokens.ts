/** A token that the store accepted was granted before: no token is made up. */

import { UNFENCED_BUCKET, type History, type HistoryEvent } from '../../history/history.ts';
import { Findings } from '../findings.ts';
import type { Verdict } from '../verdict.ts';

export function checkGrantedTokens(history: History): Verdict {
  const findings = new Findings('granted-tokens', ['accepted', 'granted']);
  const granted = new Set<number>();
  for (const event of history) {
    if (event.type === 'granted' || (event.type === 'ok' && event.f === 'acquire')) {
      if (!granted.has(event.token)) findings.count('granted');
      granted.add(event.token);
      continue;
    }
    const accepted = acceptedBy(event);
    if (accepted === undefined) continue;
    findings.count('accepted');
    if (!granted.has(accepted.token)) {
      findings.broken(`bucket ${accepted.bucket} accepted token ${accepted.token}, which was never granted`, event);
    }
  }
  return findings.verdict(findings.counted('accepted') > 0);
}

function acceptedBy(event: HistoryEvent): { readonly bucket: string; readonly token: number } | undefined {
  const written = event.type === 'accepted' || (event.type === 'ok' && (event.f === 'fence' || event.f === 'put'));
  return written && event.bucket !== UNFENCED_BUCKET ? event : undefined;
}
