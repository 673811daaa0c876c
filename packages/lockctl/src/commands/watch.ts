/** `lockctl watch PATH`: a line for each change of a node, as it happens, until a signal ends it. */

import type { EnsembleClient, NodeWatchEvent } from '../ensemble-client.ts';
import type { Environment } from '../environment.ts';
import { EXIT_OK } from '../exit-code.ts';
import { printable, printableJson } from '../output/text.ts';

export interface WatchRequest {
  readonly path: string;
  readonly recursive: boolean;
  /** Undefined: from now on. */
  readonly from: number | undefined;
}

/** Resolves with the exit code. What is missed is a line, too: whoever follows the lines should see the gap. */
export async function watchNode(
  client: EnsembleClient,
  { path, recursive, from }: WatchRequest,
  json: boolean,
  outside: Environment,
): Promise<number> {
  const interrupt = new AbortController();
  const unsubscribe = outside.onSignal((signal) => {
    if (signal !== 'SIGTSTP') interrupt.abort(new Error(`ended by ${signal}`));
  });
  try {
    const options = { recursive, onMissed: 'resync', signal: interrupt.signal } as const;
    const events = client.nodes.watch(path, from === undefined ? options : { ...options, from });
    for await (const event of events) outside.writeOut(`${json ? asJson(event) : inWords(event)}\n`);
  } catch (error) {
    if (!interrupt.signal.aborted) throw error;
  } finally {
    unsubscribe();
  }
  // To be ended is what it runs for.
  return EXIT_OK;
}

function asJson(event: NodeWatchEvent): string {
  return printableJson(JSON.stringify(event));
}

function inWords(event: NodeWatchEvent): string {
  const what = `${event.index} ${event.type} ${printable(event.path)}`;
  return event.type === 'resync' ? `${what} (what happened behind ${event.from} was missed)` : what;
}
