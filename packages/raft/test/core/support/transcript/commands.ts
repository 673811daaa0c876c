/** The commands of a transcript. */

import { NO_SERVER, serverId } from '../../../../src/core/index.ts';
import type { TranscriptEnsemble } from './ensemble.ts';

interface Command {
  readonly usage: string;
  readonly pattern: RegExp;
  readonly run: (ensemble: TranscriptEnsemble, ...words: string[]) => void;
}

const TICKET = 1;

export const COMMANDS: readonly Command[] = [
  {
    usage: 'campaign SERVER: its election timeout passes',
    pattern: /^campaign (\d+)$/,
    run: (ensemble, id) => ensemble.act(Number(id), (server) => server.campaign()),
  },
  {
    usage: 'wait SERVER MS: time passes there alone',
    pattern: /^wait (\d+) (\d+)$/,
    run: (ensemble, id, ms) => ensemble.act(Number(id), (server) => server.wait(Number(ms))),
  },
  {
    usage: 'deliver FROM>TO: the oldest message arrives',
    pattern: /^deliver (\d+)>(\d+)$/,
    run: (ensemble, from, to) => ensemble.deliverNext(Number(from), Number(to)),
  },
  {
    usage: 'drop FROM>TO: the oldest message is lost',
    pattern: /^drop (\d+)>(\d+)$/,
    run: (ensemble, from, to) => ensemble.dropNext(Number(from), Number(to)),
  },
  { usage: 'drop all: all messages are lost', pattern: /^drop all$/, run: (ensemble) => ensemble.dropAll() },
  {
    usage: 'stabilize SERVER...: between them messages arrive and writes end until nothing is under way',
    pattern: /^stabilize ((?:\d+ ?)+)$/,
    run: (ensemble, ids = '') => ensemble.stabilize(numbers(ids)),
  },
  {
    usage: 'elect SERVER by SERVER...: it stands and wins, by the votes of these; no other messages arrive',
    pattern: /^elect (\d+) by ((?:\d+ ?)+)$/,
    run: (ensemble, id, voters = '') => ensemble.elect(Number(id), numbers(voters)),
  },
  {
    usage: 'persist SERVER: its oldest write is durable',
    pattern: /^persist (\d+)$/,
    run: (ensemble, id) => ensemble.act(Number(id), (server) => server.persist()),
  },
  {
    usage: 'crash SERVER: its process ends, with no write under way done',
    pattern: /^crash (\d+)$/,
    run: (ensemble, id) => ensemble.crash(Number(id)),
  },
  {
    usage: 'restart SERVER: it starts from its disk',
    pattern: /^restart (\d+)$/,
    run: (ensemble, id) => ensemble.restart(Number(id)),
  },
  {
    usage: 'damage SERVER to COUNT: its disk loses all but so many entries, and the vote',
    pattern: /^damage (\d+) to (\d+)$/,
    run: (ensemble, id, kept) => ensemble.server(Number(id)).damage(Number(kept)),
  },
  {
    usage: 'reconnect A B: what is under way between them is lost',
    pattern: /^reconnect (\d+) (\d+)$/,
    run: (ensemble, a, b) => ensemble.reconnect(Number(a), Number(b)),
  },
  {
    usage: 'propose SERVER COMMAND...',
    pattern: /^propose (\d+) (.+)$/,
    run: (ensemble, id, words = '') => {
      const commands = words.split(' ').map((word) => new TextEncoder().encode(word));
      ensemble.act(Number(id), (server) => server.step({ type: 'propose', commands }));
    },
  },
  {
    usage: 'read SERVER TICKET',
    pattern: /^read (\d+) (\d+)$/,
    run: (ensemble, id, ticket) =>
      ensemble.act(Number(id), (server) => server.step({ type: 'read-index', ticket: Number(ticket) })),
  },
  {
    usage: 'transfer FROM to TO',
    pattern: /^transfer (\d+) to (\d+)$/,
    run: (ensemble, id, to) =>
      ensemble.act(Number(id), (server) =>
        server.step({ type: 'transfer', ticket: TICKET, target: serverId(Number(to ?? NO_SERVER)) }),
      ),
  },
  {
    usage: 'add SERVER at LEADER: as a learner that is to vote',
    pattern: /^add (\d+) at (\d+)$/,
    run: (ensemble, added, at) => {
      const change = {
        type: 'add',
        id: serverId(Number(added)),
        peerAddress: `host:${added}`,
        observer: false,
      } as const;
      ensemble.act(Number(at), (server) => server.step({ type: 'change-membership', ticket: TICKET, change }));
    },
  },
  {
    usage: 'remove SERVER at LEADER',
    pattern: /^remove (\d+) at (\d+)$/,
    run: (ensemble, removed, at) => {
      const change = { type: 'remove', id: serverId(Number(removed)) } as const;
      ensemble.act(Number(at), (server) => server.step({ type: 'change-membership', ticket: TICKET, change }));
    },
  },
  {
    usage: 'snapshot SERVER: of all that it has applied, and its log forgets as much',
    pattern: /^snapshot (\d+)$/,
    run: (ensemble, id) => ensemble.act(Number(id), (server) => server.takeSnapshot()),
  },
  {
    usage: 'send-snapshot FROM>TO: it arrives, and the sender hears so',
    pattern: /^send-snapshot (\d+)>(\d+)$/,
    run: (ensemble, from, to) => ensemble.sendSnapshot(Number(from), Number(to)),
  },
];

function numbers(words: string): number[] {
  return words.trim().split(' ').map(Number);
}
