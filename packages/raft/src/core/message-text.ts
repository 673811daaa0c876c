/** Messages and entries as a line of a transcript: what a reader needs to follow them, `index·term` for a place in the log. */

import { decodeConfiguration } from './membership/configuration-codec.ts';
import type { Configuration } from './membership/configuration.ts';
import { EntryType, type Entry, type Message } from './types.ts';

/** Longer commands are bytes. */
const MAX_COMMAND_BYTES = 64;
const PRINTABLE = /^[!-~]+$/;

export function messageText(message: Message): string {
  switch (message.type) {
    case 'pre-vote':
      return `pre-vote of term ${message.term} with a log up to ${message.lastIndex}·${message.lastTerm}`;
    case 'vote': {
      const { term, lastIndex, lastTerm, transfer } = message;
      return `vote of term ${term} with a log up to ${lastIndex}·${lastTerm}${transfer ? ', for a transfer' : ''}`;
    }
    case 'pre-vote-response':
    case 'vote-response':
      return `${message.type} of term ${message.term}: ${message.granted ? 'yes' : 'no'}`;
    case 'append': {
      const { term, prevIndex, prevTerm, entries, commit } = message;
      return `append of term ${term} behind ${prevIndex}·${prevTerm}: [${entries.map(entryText).join(' ')}], commit ${commit}`;
    }
    case 'append-response': {
      const { term, accepted, index, refusedIndex } = message;
      return accepted
        ? `acknowledgement of term ${term} up to ${index}`
        : `refusal of term ${term} behind ${refusedIndex}, hint ${index}`;
    }
    case 'heartbeat':
      return `heartbeat ${message.round} of term ${message.term}, commit ${message.commit}`;
    case 'heartbeat-response':
      return `answer to heartbeat ${message.round} of term ${message.term}`;
    case 'commit':
      return `commit ${message.commit} of term ${message.term}`;
    case 'timeout-now':
      return `timeout-now of term ${message.term}`;
  }
}

/** A command as its text, if it has one, or as its bytes. */
export function entryText({ index, term, type, data }: Entry): string {
  switch (type) {
    case EntryType.noop:
      return `${index}·${term}`;
    case EntryType.command: {
      const text = String.fromCharCode(...data.subarray(0, MAX_COMMAND_BYTES));
      return `${index}·${term}=${data.length <= MAX_COMMAND_BYTES && PRINTABLE.test(text) ? text : data.join()}`;
    }
    case EntryType.configuration:
      return `${index}·${term}${configurationText(decodeConfiguration(data))}`;
  }
}

export function configurationText({ members }: Configuration): string {
  const each = members.map(
    ({ id, role, outgoing }) => `${id}${role === 'voter' ? '' : ` ${role}`}${outgoing ? ' outgoing' : ''}`,
  );
  return `{${each.join(', ')}}`;
}
