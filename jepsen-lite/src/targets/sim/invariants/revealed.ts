/** Nothing is revealed before it is durable: terms, votes and candidacies, and the entries that an acknowledgement names. */

import type { Message, ServerId } from '@holdfast/raft';
import type { LogImage } from './server-log.ts';
import type { Report } from '../../../checkers/violation.ts';

export function checkRevealed(id: number, durable: LogImage, to: ServerId, message: Message, report: Report): void {
  const before = (condition: boolean, what: string): void => {
    if (!condition)
      report('nothing-is-revealed-before-it-is-durable', `server ${id} reveals ${what} (${durable.toString()})`);
  };
  before(durable.term >= message.term, `term ${message.term} in a ${message.type}`);
  if (durable.term !== message.term) return;
  if (message.type === 'vote') before(durable.votedFor === id, `its candidacy in term ${message.term}`);
  if (message.type === 'vote-response' && message.granted) {
    before(durable.votedFor === to, `a vote for ${to} in term ${message.term}`);
  }
  if (message.type === 'append-response' && message.accepted) {
    before(durable.lastIndex >= message.index, `entries up to ${message.index}`);
  }
}
