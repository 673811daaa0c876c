/** `lockctl deadlocks`: sessions in rings, each of which has what the one before waits for. */

import type { AnswerSources } from '../answer-sources.ts';
import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../output/json.ts';
import { formatAge, renderTable } from '../output/table.ts';

const ADVICE =
  'A session may be many tasks, so these are possible deadlocks; one that is still here a moment later is one.\n' +
  'To break one, ask a holder for its lock ("lockctl release LOCK --token T --ask"), or take it away.\n';

export async function listDeadlocks(
  client: OperatorClient,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  let skipped = 0;
  const onSkipped = (waits: number): void => {
    skipped += waits;
  };
  const deadlocks = [];
  for await (const deadlock of client.admin.deadlocks({ ...sources.options, onSkipped })) deadlocks.push(deadlock);
  if (json) return writeJson(outside, { deadlocks, skipped, ...sources.reported });
  const now = outside.nowMs();
  const rows = deadlocks.flatMap(({ steps }, position) =>
    steps.map(({ session, label, holds, token, waitsFor, acquireIndex, since, behind }, step) => [
      step === 0 ? String(position + 1) : '',
      String(session),
      label,
      holds,
      String(token),
      waitsFor,
      behind === 0 ? '' : String(behind),
      formatAge(since, now),
      String(acquireIndex),
    ]),
  );
  const header = ['#', 'SESSION', 'LABEL', 'HOLDS', 'TOKEN', 'WAITS FOR', 'BEHIND', 'SINCE', 'ACQUIRE'];
  if (rows.length === 0) outside.writeOut('No deadlock was found.\n');
  else outside.writeOut(`${renderTable(header, rows, ['BEHIND'])}${ADVICE}`);
  if (skipped > 0) {
    const waits = skipped === 1 ? '1 wait was' : `${skipped} waits were`;
    outside.writeOut(`${waits} not looked at to the end, since too many others are before; there may be more.\n`);
  }
}
