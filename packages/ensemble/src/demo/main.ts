/**
 * `pnpm demo`: the paused-holder story with real processes, told while it happens. The exit code is 0 only if what they recorded says that
 * it happened so.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Command, CommanderError, Option } from 'commander';

import { findFreeBasePort } from '../free-ports.ts';
import { LocalEnsemble } from '../local-ensemble.ts';
import { runStory, type Story } from './director.ts';
import type { BucketName, StoryEvent } from './event.ts';
import { Screen } from './screen.ts';
import { judge, type Claim } from './verdict.ts';

interface DemoOptions {
  readonly json: boolean;
  readonly proof: boolean;
  readonly withoutFence: boolean;
}

const INTRODUCTION = `A and B deposit money into one account, each under the same lock. A is paused in the midst of its write.
The account is kept twice: in a store that checks the token of the lock, and in one that does not.
`;
const DEFAULT_COLUMNS = 100;
/** Servers take seconds to start; on a machine that has much else to do longer. */
const READY_TIMEOUT_MS = 60_000;

function parse(args: readonly string[]): DemoOptions | number {
  const command = new Command('demo')
    .description('The story of a paused lock holder, with real processes on ports and data of its own.')
    .option('--json', 'print one JSON document instead of text', false)
    .option('--proof', 'print, too, what was judged of the recorded events, and by what', false)
    .addOption(new Option('--without-fence', 'take the fence out, to see the demo fail').default(false).hideHelp())
    .exitOverride();
  try {
    command.parse(args[0] === '--' ? args.slice(1) : args, { from: 'user' });
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return error.exitCode === 0 ? 0 : 2;
  }
  return command.opts<DemoOptions>();
}

async function play(story: Story): Promise<StoryEvent[]> {
  const { signal } = story;
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  try {
    const basePort = await findFreeBasePort(3);
    const ensemble = await LocalEnsemble.start({
      dataDirectory,
      basePort,
      clusterId: 'demo',
      readyTimeoutMs: READY_TIMEOUT_MS,
      signal,
    });
    try {
      return await runStory(ensemble, story);
    } finally {
      await ensemble.stop();
    }
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

function print(screen: Screen, events: readonly StoryEvent[], claims: readonly Claim[], proof: boolean): void {
  const happened = claims.every(({ holds }) => holds);
  if (happened) process.stdout.write(screen.end(foundIn(events, 'fenced'), foundIn(events, 'unfenced')));
  if (proof || !happened) {
    process.stdout.write('\n');
    for (const { claim, holds, evidence } of claims)
      process.stdout.write(`  ${holds ? 'yes' : 'NO '}  ${claim} (${evidence})\n`);
  }
  if (!happened) process.stdout.write('\nIt did NOT happen so; the lines that begin with NO say what was otherwise.\n');
}

function foundIn(events: readonly StoryEvent[], bucket: BucketName): string | null {
  for (const { fact } of events) if (fact.type === 'found' && fact.bucket === bucket) return fact.value;
  return null;
}

/** Colours are for terminals, and not for those who refuse them (no-color.org). */
function screenOf({ isTTY, columns }: NodeJS.WriteStream): Screen {
  const colour = isTTY && (process.env['NO_COLOR'] ?? '') === '';
  return new Screen({ columns: isTTY ? columns : DEFAULT_COLUMNS, colour });
}

async function run({ json, proof, withoutFence }: DemoOptions): Promise<number> {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  const screen = screenOf(process.stdout);
  const say = (text: string): void => {
    if (!json) process.stdout.write(text);
  };
  say(`${INTRODUCTION}\nThree lock servers and a store start …\n\n${screen.head()}`);
  try {
    const { signal } = controller;
    const events = await play({ fence: !withoutFence, signal, onEvent: (event) => say(screen.lines(event)) });
    const claims = judge(events);
    const happened = claims.every(({ holds }) => holds);
    if (json) process.stdout.write(`${JSON.stringify({ happened, claims, events }, null, 2)}\n`);
    else print(screen, events, claims, proof);
    return happened ? 0 : 1;
  } catch (error) {
    const reason = controller.signal.aborted
      ? 'it was interrupted'
      : error instanceof Error
        ? error.message
        : String(error);
    process.stderr.write(`demo: the story could not be run to its end: ${reason}\n`);
    return 1;
  }
}

const options = parse(process.argv.slice(2));
process.exitCode = typeof options === 'number' ? options : await run(options);
