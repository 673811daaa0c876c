/** A proxy in a process of its own: it obeys lines of its standard input, tells what strikes, and ends with its input. */

import { createInterface } from 'node:readline';
import type { Effect } from '../../../../nemeses/target.ts';
import type { ProxyCommand, ProxyReport } from './protocol.ts';
import { LinkProxy } from './link-proxy.ts';

/** Effects of so much time are told at once. */
const TELL_EVERY_MS = 20;

const struck = new Map<Effect, number>();
let timer: NodeJS.Timeout | undefined;

function report(what: ProxyReport): void {
  process.stdout.write(`${JSON.stringify(what)}\n`);
}

const proxy = await LinkProxy.open({
  struck(effect, times) {
    struck.set(effect, (struck.get(effect) ?? 0) + times);
    timer ??= setTimeout(() => {
      timer = undefined;
      report({ struck: [...struck] });
    }, TELL_EVERY_MS);
  },
});
report({ port: proxy.port });

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => {
  const { id, command } = JSON.parse(line) as { readonly id: number; readonly command: ProxyCommand };
  proxy.obey(command);
  report({ struck: [...struck], done: id });
});
lines.on('close', () => process.exit());
