/**
 * What is to be done before the process ends by a signal, such as SIGTERM of an orchestrator: locks that are given back are granted to others
 * at once, those of a process that just ends only when its session expires. All clients of a process share one listener a signal.
 */

/** What a process can be told to end by, and hear. */
export const EXIT_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGBREAK'] as const;

/**
 * A signal that ends a process.
 *
 * @example
 * client.releaseOnExit({ signals: ['SIGTERM', 'SIGHUP'] });
 */
export type ExitSignal = (typeof EXIT_SIGNALS)[number];

/** What is done at a signal; the process ends when all of it is done. */
interface Exit {
  readonly signals: readonly ExitSignal[];
  /** Never rejects. */
  readonly run: (signal: ExitSignal) => Promise<void>;
}

interface Exits {
  readonly exits: Set<Exit>;
  readonly listeners: Map<ExitSignal, () => void>;
}

/** Two copies of this package in one process wait for each other. */
const KEY = Symbol.for('@holdfast/client:exits');
const { exits, listeners }: Exits = ((globalThis as { [KEY]?: Exits })[KEY] ??= {
  exits: new Set(),
  listeners: new Map(),
});

/**
 * Runs `run` at the first of these signals. Then the process ends by the signal, as it would have without; where somebody else listens for it,
 * that one decides. A second signal ends it at once. Returns what takes it back.
 */
export function beforeExit(signals: readonly ExitSignal[], run: (signal: ExitSignal) => Promise<void>): () => void {
  const exit = { signals, run };
  exits.add(exit);
  for (const signal of signals) listen(signal);
  return () => {
    exits.delete(exit);
    for (const signal of listeners.keys())
      if (![...exits].some((other) => other.signals.includes(signal))) ignore(signal);
  };
}

function listen(signal: ExitSignal): void {
  if (listeners.has(signal)) return;
  const listener = (): void => void end(signal);
  listeners.set(signal, listener);
  process.on(signal, listener);
}

function ignore(signal: ExitSignal): void {
  const listener = listeners.get(signal);
  listeners.delete(signal);
  if (listener !== undefined) process.off(signal, listener);
}

async function end(signal: ExitSignal): Promise<void> {
  for (const each of listeners.keys()) ignore(each);
  const othersDecide = process.listenerCount(signal) > 0;
  const due = [...exits].filter(({ signals }) => signals.includes(signal));
  for (const exit of due) exits.delete(exit);
  await Promise.all(due.map((exit) => exit.run(signal)));
  if (!othersDecide) process.kill(process.pid, signal);
}
