/**
 * `pnpm demo`: the paused-holder story with real processes. The timeline is made from what they recorded, and the exit code is 0 only
 * if it happened so.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Command, CommanderError, Option } from 'commander';

import { findFreeBasePort } from '../free-ports.ts';
import { LocalEnsemble } from '../local-ensemble.ts';
import { runStory } from './director.ts';
import type { StoryEvent } from './event.ts';
import { renderTimeline } from './timeline.ts';
import { judge, type Claim } from './verdict.ts';

interface DemoOptions {
  readonly json: boolean;
  readonly withoutFence: boolean;
}

const INTRODUCTION = `A takes a lock, is stopped, and its session expires. B takes the lock and writes. A wakes and writes late.
The fenced bucket must refuse that write by its token; the unfenced one, the control, takes it.
`;

function parse(args: readonly string[]): DemoOptions | number {
  const command = new Command('demo')
    .description('The story of a paused lock holder, with real processes on ports and data of its own.')
    .option('--json', 'print one JSON document instead of text', false)
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

async function play(fence: boolean, signal: AbortSignal): Promise<StoryEvent[]> {
  const dataDirectory = mkdtempSync(join(tmpdir(), 'holdfast-demo-'));
  try {
    const basePort = await findFreeBasePort(3);
    const ensemble = await LocalEnsemble.start({ dataDirectory, basePort, clusterId: 'demo', signal });
    try {
      return await runStory(ensemble, fence, signal);
    } finally {
      await ensemble.stop();
    }
  } finally {
    rmSync(dataDirectory, { recursive: true, force: true });
  }
}

function print(events: readonly StoryEvent[], claims: readonly Claim[], json: boolean): void {
  const happened = claims.every(({ holds }) => holds);
  if (json) {
    process.stdout.write(`${JSON.stringify({ happened, claims, events }, null, 2)}\n`);
    return;
  }
  process.stdout.write(`\n${renderTimeline(events)}\n`);
  for (const { claim, holds, evidence } of claims)
    process.stdout.write(`  ${holds ? 'yes' : 'NO '}  ${claim} (${evidence})\n`);
  const verdict = happened
    ? 'Exclusion of holders cannot be had; exclusion of effects was had, by the token.'
    : 'It did NOT happen so; the lines that begin with NO say what was otherwise.';
  process.stdout.write(`\n${verdict}\n`);
}

async function run({ json, withoutFence }: DemoOptions): Promise<number> {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => controller.abort());
  if (!json) process.stdout.write(INTRODUCTION);
  try {
    const events = await play(!withoutFence, controller.signal);
    const claims = judge(events);
    print(events, claims, json);
    return claims.every(({ holds }) => holds) ? 0 : 1;
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
