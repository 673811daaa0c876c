/** `lockctl sessions` and `lockctl session close`. */

import type { AnswerSources } from '../answer-sources.ts';
import type { OperatorClient } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { writeJson } from '../output/json.ts';
import { formatAge, renderTable } from '../output/table.ts';

export async function listSessions(
  client: OperatorClient,
  json: boolean,
  sources: AnswerSources,
  outside: Environment,
): Promise<void> {
  const sessions = [];
  for await (const session of client.admin.sessions(sources.options)) sessions.push(session);
  if (json) return writeJson(outside, { sessions, ...sources.reported });
  const now = outside.nowMs();
  const rows = sessions.map((session) => [
    String(session.session),
    session.label,
    formatAge(session.createdAt, now),
    `${session.timeoutMs / 1_000}s`,
    String(session.holds),
    String(session.waits),
    String(session.ephemerals),
  ]);
  outside.writeOut(renderTable(['SESSION', 'LABEL', 'AGE', 'TIMEOUT', 'HOLDS', 'WAITS', 'EPHEMERALS'], rows));
}

export async function closeSession(
  client: OperatorClient,
  session: number,
  json: boolean,
  outside: Environment,
): Promise<void> {
  await client.admin.closeSession(session);
  if (json) return writeJson(outside, { closed: session });
  outside.writeOut(`Session ${session} is closed; its locks were given to the next in their queues.\n`);
}
