/**
 * `pnpm start`: the local ensemble until Ctrl-C. Its children end with it, however it ends: by a signal, with the terminal, with the
 * package runner above it, or killed.
 */

import { resolve } from 'node:path';

import { EnsembleError } from '../ensemble-error.ts';
import { LocalEnsemble } from '../local-ensemble.ts';
import { renderGuide } from './guide.ts';
import { launchChain, readProcess, watchLaunchChain } from './launch-chain.ts';
import { parseStartOptions, type StartOptions } from './options.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** Package runners may pass on a Ctrl-C that came here by itself too; only a later one is the user's impatience. */
const IMPATIENCE_AFTER_MS = 1_000;

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

function complain(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Aborts when this program is to stop, for any of the reasons there are. */
function stopRequest(): AbortSignal {
  const controller = new AbortController();
  let askedAt = Number.POSITIVE_INFINITY;
  const ask = (): void => {
    if (performance.now() - askedAt > IMPATIENCE_AFTER_MS) {
      complain('Stopped at once; the servers end by themselves.');
      process.exit(1);
    }
    if (controller.signal.aborted) return;
    askedAt = performance.now();
    controller.abort();
  };
  for (const signal of STOP_SIGNALS) process.on(signal, ask);
  watchLaunchChain(launchChain(process.pid, readProcess), readProcess, ask);
  return controller.signal;
}

async function start(options: StartOptions, stopped: AbortSignal): Promise<LocalEnsemble> {
  let serving = false;
  const ensemble = await LocalEnsemble.start({
    servers: options.servers,
    basePort: options.basePort,
    dataDirectory: resolve(options.data),
    fresh: options.fresh,
    signal: stopped,
    onCleared: (paths) => {
      say(paths.length === 0 ? 'Nothing to delete.' : ['Deleted:', ...paths.map((path) => `  ${path}`)].join('\n'));
    },
    onUnexpectedExit: ({ name, advice, logFile }) => {
      // Before that, the start itself fails and says so.
      if (serving) complain(`${name} has ended by itself, ${advice} (log: ${logFile}). It is not restarted.`);
    },
  });
  serving = true;
  return ensemble;
}

async function run(options: StartOptions): Promise<number> {
  const stopped = stopRequest();
  // A terminal that has gone cannot be written to; that is no reason to stop without stopping the servers.
  process.stdout.on('error', () => undefined);
  process.stderr.on('error', () => undefined);
  say(`Starting ${options.servers} lockd servers and a fenced store on ${options.data} …`);
  let ensemble: LocalEnsemble;
  try {
    ensemble = await start(options, stopped);
  } catch (error) {
    if (stopped.aborted) {
      say('Stopped before everything served.');
      return 0;
    }
    complain(`The ensemble did not start: ${error instanceof EnsembleError ? error.message : String(error)}`);
    return 1;
  }
  const { servers, basePort } = ensemble;
  const leader = await ensemble.leader();
  say(renderGuide({ servers, basePort, dataDirectory: resolve(options.data), leader }, process.cwd()));
  await aborted(stopped);
  say('\nStopping …');
  await ensemble.stop();
  say('Stopped: every server has ended, and the data stays.');
  return 0;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    // A signal alone keeps no process alive.
    const alive = setInterval(() => undefined, 60_000);
    signal.addEventListener('abort', () => {
      clearInterval(alive);
      resolve();
    });
  });
}

const parsed = parseStartOptions(process.argv.slice(2));
process.exitCode = parsed.type === 'exit' ? parsed.code : await run(parsed.options);
if (parsed.type === 'start') process.exit();
