/** Two measurements of our own servers alone, through the SDK: fail-over by fault, and leadership beside other work. */

import { median } from '../statistics.ts';
import { measureFailOver, type Fault } from './fail-over.ts';
import { measureQuiet } from './quiet.ts';

export async function reportFailOver(trials: number): Promise<void> {
  const faults: readonly (readonly [Fault, string])[] = [
    ['kill', 'kill -9 of the leader'],
    ['stop', 'SIGSTOP of the leader'],
  ];
  print('\n## From the fault to the next acquire that succeeds\n');
  for (const [fault, name] of faults) {
    const gapsMs = await measureFailOver({
      fault,
      trials,
      report: (trial, gapMs) => print(`${name}, trial ${trial} of ${trials}: ${Math.round(gapMs)} ms`),
    });
    const range = `${Math.round(Math.min(...gapsMs))}–${Math.round(Math.max(...gapsMs))}`;
    print(`\n**${name}: median ${Math.round(median(gapsMs))} ms** (${range}, ${gapsMs.length} trials)\n`);
  }
}

export async function reportQuiet(minutes: number): Promise<void> {
  print('\n## Leadership while every core is busy with other work\n');
  const { seconds, busyProcesses, termBefore, termAfter } = await measureQuiet(minutes * 60, (second, term) => {
    if (second % 60 === 0) print(`after ${second} s: term ${term}`);
  });
  const verdict = termAfter === termBefore ? 'no leader change' : `${termAfter - termBefore} elections`;
  print(
    `\n**${verdict}** in ${seconds} s beside ${busyProcesses} busy processes (term ${termBefore}, then ${termAfter})\n`,
  );
  if (termAfter !== termBefore) process.exitCode = 1;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
