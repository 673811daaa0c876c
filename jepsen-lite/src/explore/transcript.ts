/** A trace as text: who did what, what was sent and lost, and what became of the server. */

import { entryText, messageText } from '@holdfast/raft/core';

import type { Parcel } from './server/server.ts';
import type { ServerTable } from './server/server-table.ts';
import type { TraceStep } from './trace.ts';

export function transcriptOf(table: ServerTable, steps: readonly TraceStep[]): string {
  const lines: string[] = [];
  for (const [at, step] of steps.entries()) {
    const [first = '', ...rest] = linesOf(table, step);
    lines.push(`${String(at + 1).padStart(3)}. ${first}`, ...rest.map((line) => `       ${line}`));
  }
  return lines.join('\n');
}

function linesOf(table: ServerTable, traced: TraceStep): string[] {
  const { step, lost, broken } = traced;
  const lines = [deed(table, traced)];
  const sent = (messages: readonly number[]): string =>
    messages.map((message) => `${parcelText(table.sent(message).parcel)} to ${table.sent(message).to + 1}`).join('; ');
  if (step.sent.length > 0) lines.push(`sends ${sent(step.sent)}`);
  for (const message of lost) {
    const { from, to, parcel } = table.sent(message);
    lines.push(`lost: ${parcelText(parcel)} from ${from + 1} to ${to + 1}`);
  }
  for (const { ticket, index } of step.answered) lines.push(`read ${ticket + 1} goes on at ${index}`);
  if (broken === undefined) lines.push(`now ${serverText(table, step.next)}`);
  else lines.push(`BROKEN ${broken.law}: ${broken.message}`);
  return lines;
}

function deed(table: ServerTable, { position, action, message, kept }: TraceStep): string {
  const who = `server ${position + 1}`;
  if (action === undefined) {
    const { from, parcel } = table.sent(message);
    return `${who} hears ${parcelText(parcel)} from ${from + 1}${kept ? ', which will arrive again' : ''}`;
  }
  switch (action.type) {
    case 'hear':
      return `${who} hears ${parcelText(action.parcel)} from ${action.from}`;
    case 'stand':
      return `${who} stands: its election timeout is over`;
    case 'beat':
      return `${who} beats: a heartbeat interval has passed`;
    case 'write':
      return `${who}: its oldest write is durable`;
    case 'crash':
      return `${who} ends and starts again from its disk`;
    case 'damage':
      return `${who} ends, its log has lost all but ${action.kept} entries behind its base, and it starts from that`;
    case 'propose':
      return `${who} is asked to log command ${action.value}`;
    case 'read':
      return `${who} is asked for read ${action.ticket + 1}`;
    case 'change':
      return `${who} is asked to ${action.change.type} server ${action.change.id}`;
    case 'snapshot':
      return `${who} takes a snapshot and forgets the log before it`;
    case 'transfer':
      return `${who} is asked to transfer leadership to ${action.target}`;
    case 'reconnect':
      return `${who} has a new connection to ${action.peer}`;
  }
}

function parcelText(parcel: Parcel): string {
  if (parcel.type === 'snapshot') {
    const { index, term } = parcel.snapshot.position;
    return `snapshot up to ${index}·${term} of term ${parcel.term}`;
  }
  if (parcel.type === 'snapshot-installed') return `word that it has the snapshot up to ${parcel.index}`;
  return messageText(parcel);
}

function serverText(table: ServerTable, number: number): string {
  const { role, term, votedFor, commit, log, durable, writing, voteBan } = table.known(number);
  const entries = (at: number): string =>
    table
      .log(at)
      .map((entry) => entryText(table.entry(entry)))
      .join(' ');
  const onDisk = writing ? `, on disk [${entries(durable)}]` : '';
  const vote = votedFor === 0 ? '' : `, vote for ${votedFor}`;
  const ban = voteBan === undefined ? '' : `, banned from voting since term ${voteBan}`;
  return `${role} in term ${term}${vote}${ban}, log [${entries(log)}]${onDisk}, commit ${commit}`;
}
