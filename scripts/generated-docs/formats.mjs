/** What clients, servers and the log say to each other, each message as it is declared. */

import { join } from 'node:path';

import { peerMessages } from '../../packages/lockd/dist/peers/peer-message.js';
import { adminAnswers, adminOperations } from '../../packages/protocol/dist/messages/admin.js';
import { attachRequest } from '../../packages/protocol/dist/messages/attach-request.js';
import { commands } from '../../packages/protocol/dist/messages/command.js';
import { ClientFeature } from '../../packages/protocol/dist/features.js';
import { membershipChanges, memberSummary } from '../../packages/protocol/dist/messages/members.js';
import { clientMessages, serverMessages } from '../../packages/protocol/dist/messages/message.js';
import { operations } from '../../packages/protocol/dist/messages/operation.js';
import { answers, queries } from '../../packages/protocol/dist/messages/query.js';
import { replies } from '../../packages/protocol/dist/messages/reply.js';
import { stat } from '../../packages/protocol/dist/messages/stat.js';
import {
  expulsionNotice,
  peerChallenge,
  peerHello,
  peerProof,
  peerWelcome,
} from '../../packages/raft/dist/peers/greeting-codec.js';
import { peerItems } from '../../packages/raft/dist/peers/peer-codec.js';
import { PeerFeature } from '../../packages/raft/dist/peers/peer-features.js';
import { snapshotMessages } from '../../packages/raft/dist/snapshots/snapshot-codec.js';
import { VERSIONS } from '../../packages/state/dist/versions.js';
import { code, page, table } from './markdown.mjs';
import { messagesTable, recordTable } from './messages.mjs';
import { firstSentence, propertiesOf } from './source.mjs';

const INTRO = `A message is a msgpack array: its number, then its fields in this order. [formats.md](../formats.md) has the rules.

*If missing* is what a tuple means that ends before the field. Integers go from 0 to 2^53 − 1 unless a bound says otherwise.
Texts are counted in UTF-16 units. A choice is written as its number.`;

/** In the order of the page. */
const FAMILIES = [
  { title: 'Messages of the client', name: 'message of the client', declared: clientMessages },
  { title: 'Messages of the server', name: 'message of the server', declared: serverMessages },
  { title: 'Commands', name: 'command', declared: commands },
  { title: 'Operations of a transaction', name: 'operation', declared: operations },
  { title: 'Replies', name: 'reply', declared: replies },
  { title: 'Queries', name: 'query', declared: queries },
  { title: 'Answers', name: 'answer', declared: answers },
  { title: 'Admin operations', name: 'admin operation', declared: adminOperations },
  { title: 'Admin answers', name: 'admin answer', declared: adminAnswers },
  { title: 'Changes of the members', name: 'change of the members', declared: membershipChanges },
  { title: 'Items between servers', name: 'item', declared: peerItems },
  { title: 'Messages between servers', name: 'peer message', declared: peerMessages },
  { title: 'Messages of a snapshot connection', name: 'snapshot message', declared: snapshotMessages },
];
const RECORDS = [
  { title: 'Attach request', name: 'attach request', declared: attachRequest },
  { title: 'Stat', name: 'stat', declared: stat },
  { title: 'Member', name: 'member', declared: memberSummary },
  { title: 'Hello between servers', name: 'peer hello', declared: peerHello },
  { title: 'Challenge between servers', name: 'peer challenge', declared: peerChallenge },
  { title: 'Proof between servers', name: 'peer proof', declared: peerProof },
  { title: 'Welcome between servers', name: 'peer welcome', declared: peerWelcome },
  { title: 'Expulsion between servers', name: 'expulsion', declared: expulsionNotice },
];

export const formatsPage = {
  file: 'formats.md',
  render(root) {
    const named = new Map(
      [...FAMILIES, ...RECORDS].map(({ title, name, declared }) => [declared.shape, `[${name}](#${anchor(title)})`]),
    );
    const since = (name) => `state version ${VERSIONS.commands[name]}`;
    return page(
      'Messages',
      INTRO,
      ...FAMILIES.flatMap(({ title, declared }) => [
        `## ${title}`,
        messagesTable(declared.shapes, named, declared === commands ? since : undefined),
      ]),
      ...RECORDS.flatMap(({ title, declared }) => [`## ${title}`, recordTable(declared.shape, named)]),
      '## Kinds of locks',
      table(
        ['number', 'kind', 'since'],
        VERSIONS.lockKinds.map(({ number, name, since: from }) => [
          String(number),
          code(name),
          `state version ${from}`,
        ]),
      ),
      '## Features between client and server',
      features(ClientFeature, join(root, 'packages/protocol/src/features.ts'), 'ClientFeature'),
      '## Features between servers',
      features(PeerFeature, join(root, 'packages/raft/src/peers/peer-features.ts'), 'PeerFeature'),
    );
  },
};

/** @param {Readonly<Record<string, number>>} bits */
function features(bits, path, name) {
  const docs = propertiesOf(path, name);
  const rows = docs.map(({ name: feature, doc }) => [
    String(Math.log2(bits[feature])),
    code(feature),
    firstSentence(doc),
  ]);
  return table(['bit', 'feature', 'meaning'], rows);
}

function anchor(title) {
  return title.toLowerCase().replaceAll(' ', '-');
}
