/** A client of a live run: the applications of one process. It ends when it is done, or when nobody holds its standard input. */

import { createInterface } from 'node:readline';
import { applicationNames } from '../../../plan/plan.ts';
import { Application } from '../../../workloads/application.ts';
import { ProcessWorld, report } from './process-world.ts';
import { CLIENT_COMMANDS, type ClientOrder, type ClientServers } from './protocol.ts';

const REPORT_EVERY_MS = 50;

const order = JSON.parse(process.argv[2] ?? '') as ClientOrder;
const world = new ProcessWorld(order);
const applications = applicationNames(order.plan).map(
  (name) => new Application({ ...order.plan, name }, () => world.runtime, world),
);

for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => world.unexpected(order.plan.name, error));
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const command = CLIENT_COMMANDS.find((each) => each === line);
  if (command !== undefined) world.obey(command);
  else if (line.startsWith('{')) world.foundAt((JSON.parse(line) as ClientServers).servers);
});
lines.on('close', () => process.exit());

let said = '';
function reportState(): void {
  const rounds = applications.flatMap((each) => each.rounds ?? []);
  // All of them must work again, so the slowest counts.
  const now = {
    rounds: rounds.length === 0 ? null : Math.min(...rounds),
    idle: applications.every(({ idle }) => idle),
  };
  if (JSON.stringify(now) === said) return;
  said = JSON.stringify(now);
  report(now);
}

for (const application of applications) application.boot();
setInterval(reportState, REPORT_EVERY_MS);
