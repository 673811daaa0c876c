import type { ProcessExit } from '@holdfast/ensemble';
import { ExitCode } from '@holdfast/lockd';
import { describe, expect, it } from 'vitest';
import { Machine, type Running } from '../../../../src/targets/live/processes/machine.ts';
import { twinsOf } from '../../../../src/targets/live/processes/twins.ts';

/** A server and its second process, which end when they are told to. */
function world(serves = async (): Promise<boolean> => await Promise.resolve(true)) {
  const said: string[] = [];
  const program = (name: string): Running & { readonly end: (code: number) => void } => {
    let end: (exit: ProcessExit) => void = () => undefined;
    const exited = new Promise<ProcessExit>((resolve) => (end = resolve));
    const kill = (): void => {
      said.push(`${name} killed`);
      end({ code: null, signal: 'SIGKILL' });
    };
    return {
      pid: undefined,
      exited,
      kill,
      terminate: () => end({ code: 0, signal: null }),
      pause: () => undefined,
      resume: () => undefined,
      end: (code) => end({ code, signal: null }),
    };
  };
  const failed = (name: string, message: string): void => void said.push(`${name}: ${message}`);
  const machine = new Machine({
    host: 's1',
    launch: () => {
      said.push('server launched');
      return program('server');
    },
    serves,
    effect: () => undefined,
    down: () => undefined,
    failed,
  });
  const twin = program('twin');
  const launch = (host: string): Running => {
    said.push(`twin of ${host} launched`);
    return twin;
  };
  const twins = twinsOf({ machineOn: () => machine, launch, refused: () => said.push('refused'), failed });
  return { machine, twin, twins, said };
}

/** What came of a second process that ends so, beside a server that is up. */
async function startBeside(code: number): Promise<string[]> {
  const { machine, twin, twins, said } = world();
  await machine.start();
  const struck = twins.start('s1');
  twin.end(code);
  await struck;
  return said.slice(1);
}

describe('a second process of a server', () => {
  it('has struck when the directory refused it', async () => {
    expect(await startBeside(ExitCode.dataDirectoryInUse)).toEqual(['twin of s1 launched', 'refused']);
  });

  it('is the failure of the run when it got past that, however it ended', async () => {
    const [, failure] = await startBeside(ExitCode.portInUse);
    expect(failure).toBe(
      'one-process-has-a-directory: a second process of s1 ended: exit code 64; its directory refuses it with 65',
    );
  });

  it('is ended, and has not struck, when the first one ends; only then another is started', async () => {
    const { machine, twins, said } = world();
    await machine.start();
    const struck = twins.start('s1');
    await machine.kill();
    await Promise.all([struck, machine.start()]);
    expect(said).toEqual(['server launched', 'twin of s1 launched', 'server killed', 'twin killed', 'server launched']);
  });

  it('is not started before the first one serves, which has not taken its directory yet', async () => {
    let serving = false;
    const { machine, twins, said } = world(async () => await Promise.resolve(serving));
    const started = machine.start();
    await twins.start('s1');
    expect(said).toEqual(['server launched']);
    serving = true;
    await started;
    const struck = twins.start('s1');
    expect(said).toEqual(['server launched', 'twin of s1 launched']);
    await machine.kill();
    await struck;
  });

  it('is not started where the first one does not live', async () => {
    const { twins, said } = world();
    await twins.start('s1');
    expect(said).toEqual([]);
  });
});
