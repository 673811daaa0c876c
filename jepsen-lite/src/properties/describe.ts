/** Entries and what came of them as text, for whoever reads a failing run. */

import type { Command } from '@holdfast/protocol';
import type { Output } from '@holdfast/state';

import type { Step } from './observation/step.ts';
import type { Input } from './observation/input.ts';

export function describeStep({ index, input, outputs }: Pick<Step, 'index' | 'input' | 'outputs'>): string {
  const reported = outputs.length === 0 ? 'no outputs' : outputs.map(describeOutput).join('; ');
  return `${index}: ${describeInput(input)} -> ${reported}`;
}

export function describeInput(input: Input): string {
  switch (input.type) {
    case 'noop':
      return 'no-op';
    case 'unsupported':
      return `an entry ${input.what}`;
    case 'attach': {
      const { command } = input;
      if (command === undefined) return 'attach, malformed';
      const secret = new DataView(command.secretHash.buffer, command.secretHash.byteOffset).getUint32(0);
      return `attach secret ${secret}, session ${command.session}`;
    }
    case 'request': {
      const { via, session, generation, number, ackedUpTo, name, command } = input;
      const malformed = name === undefined ? 'a command that no version has' : `${name}, malformed`;
      const what = command === undefined ? malformed : describeCommand(command);
      return `session ${session} (generation ${generation}, server ${via}) request ${number}, acknowledging ${ackedUpTo}: ${what}`;
    }
    case 'expire':
      return input.command === undefined ? 'expireSession, malformed' : describeCommand(input.command);
    case 'continue':
      return input.command === undefined ? 'continueEnd, malformed' : describeCommand(input.command);
    case 'unused':
      return input.command === undefined ? 'removeUnused, malformed' : describeCommand(input.command);
    case 'endDelay':
      return input.command === undefined ? 'endLockDelay, malformed' : describeCommand(input.command);
    case 'enforce':
      return input.command === undefined ? 'enforceRelease, malformed' : describeCommand(input.command);
    case 'raise':
      return input.command === undefined ? 'raiseStateVersion, malformed' : describeCommand(input.command);
  }
}

function describeCommand(command: Command): string {
  const { type, ...fields } = command;
  const shown = Object.entries(fields).map(([name, value]) =>
    value instanceof Uint8Array ? `${name} of ${value.length} bytes` : `${name} ${JSON.stringify(value)}`,
  );
  return `${type} ${shown.join(', ')}`;
}

function describeOutput(output: Output): string {
  switch (output.type) {
    case 'reply':
      return `reply ${JSON.stringify(output.reply)}`;
    case 'refused':
      return `refused ${output.code}, last applied ${output.lastApplied}`;
    case 'attached':
      return `attached ${JSON.stringify(output.reply)}`;
    case 'granted':
      return `granted lock ${output.lock} to acquire ${output.acquireIndex} of session ${output.session} under token ${output.token}`;
    case 'floorRaised':
      return `the floor of lock ${output.lock} rises to ${output.floor}`;
    case 'contended':
      return `others wait for lock ${output.lock}`;
    case 'lockDelayed':
      return `lock ${output.lock} is delayed by ${output.index} for ${output.delayMs} ms`;
    case 'lockDelayEnded':
      return `the delay ${output.index} of lock ${output.lock} is over`;
    case 'lost':
      return `session ${output.session} lost acquire ${output.acquireIndex} of lock ${output.lock}: ${output.reason}`;
    case 'releaseRequested':
      return `session ${output.session} is asked by ${output.request.index} to release acquire ${output.acquireIndex} of lock ${output.lock}`;
    case 'releaseEnforced':
      return `the time of request ${output.request} to release is over`;
    case 'deadlocksSought':
      return `${output.ended} waits ended in deadlocks${output.gaveUp ? ', and not all were looked for' : ''}`;
    case 'sessionCreated':
      return `session ${output.session} begins`;
    case 'sessionSurvived':
      return `session ${output.session} lives on`;
    case 'endContinued':
      return `the end of session ${output.session} goes on`;
    case 'unusedRemoved':
      return `${output.nodes} unused nodes are removed`;
    case 'sessionEnding':
      return `session ${output.session} is ending`;
    case 'sessionEnded':
      return `session ${output.session} ended: ${output.reason}`;
  }
}
