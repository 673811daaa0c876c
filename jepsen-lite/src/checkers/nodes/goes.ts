/** What every node promises that goes by itself: not with a child in it, and not to come back. */

import type { Findings } from '../findings.ts';
import { childAt, type Life } from './lives.ts';

/**
 * Once everything has healed, from when a node may go until it is gone: its leader looks twice a second, and what it proposes has to be
 * committed, on a busy machine, too.
 */
export const GONE_WITHIN_MS = 4_000;

export function judgeCommon<Count extends string>(life: Life, findings: Findings<Count>): void {
  const { path, missed, seen, children } = life;
  for (const sight of missed) {
    const child = childAt(life, sight);
    if (child === undefined) continue;
    findings.broken(`"${path}" is gone, and has the child "${child.path}"`, child.made?.answer, sight.answer);
    break;
  }
  for (const { path: child, made, deletes, gone } of children.values()) {
    if (made === undefined || gone === undefined || deletes.some(({ seq }) => seq < gone.answer.seq)) continue;
    findings.broken(`"${child}" is gone, and nobody has deleted it`, made.answer, gone.answer);
  }
  const [first] = missed;
  const again = first === undefined ? undefined : seen.find(({ call }) => call.seq > first.answer.seq);
  if (again !== undefined) findings.broken(`"${path}" was gone, and is there again`, first?.answer, again.answer);
}
