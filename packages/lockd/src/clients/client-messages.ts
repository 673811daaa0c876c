/**
 * What a client may say and when: hello first and once, then what its session needs. Admits each message, or closes the
 * connection with the reason, and hands what is admitted to the concept that answers it.
 */

import {
  CLIENT_FEATURES,
  CommandType,
  NO_FEATURES,
  PROTOCOL_VERSION,
  commonFeatures,
  describeFeatures,
  isClientCommand,
  missingFeatures,
  type AdminAnswer,
  type AdminOperation,
  type ClientMessage,
  type Member,
} from '@holdfast/protocol';
import type { ServerId } from '@holdfast/raft';
import { encodeEntry } from '@holdfast/state';
import type { Attaches } from '../sessions/attaches.ts';
import type { Availability } from '../health/availability.ts';
import type { Admission } from './admission.ts';
import type { ClientConnection, MessageReceiver } from './client-connection.ts';
import type { CrowdSpread } from './crowd-spread.ts';
import type { ServerCounters } from '../counters.ts';
import { MAX_COMMAND_BYTES } from '../limits.ts';
import type { LeadershipTransfer } from '../members/leadership-transfer.ts';
import type { MembershipWishes } from '../members/membership-wishes.ts';
import type { ProposalGate } from '../requests/gathering/proposal-gate.ts';
import type { Proposals } from '../requests/proposals.ts';
import type { Reads } from '../requests/reads.ts';
import type { Renewals } from '../sessions/renewals.ts';

/** Of a session's first request. */
const FIRST_NUMBER = 1;

export interface ClientMessagesOptions {
  readonly serverId: ServerId;
  readonly clusterId: string;
}

export interface ClientMessagesDeps {
  readonly counters: ServerCounters;
  readonly availability: Availability;
  readonly gate: ProposalGate;
  readonly proposals: Proposals;
  readonly attaches: Attaches;
  readonly renewals: Renewals;
  readonly reads: Reads;
  readonly transfer: LeadershipTransfer;
  readonly membership: MembershipWishes;
  readonly admission: Admission;
  readonly crowdSpread: Pick<CrowdSpread, 'ms'>;
  members(): readonly Member[];
  term(): number;
}

export class ClientMessages implements MessageReceiver {
  readonly #options: ClientMessagesOptions;
  readonly #deps: ClientMessagesDeps;

  constructor(options: ClientMessagesOptions, deps: ClientMessagesDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  received(connection: ClientConnection, message: ClientMessage): void {
    if (connection.phase === 'new') {
      this.#hello(connection, message);
      return;
    }
    switch (message.type) {
      case 'hello':
        connection.goodbye('MALFORMED', 'hello was said before; it comes once, first');
        return;
      case 'attach':
        if (connection.withoutLeader) {
          connection.goodbye(
            'MALFORMED',
            'this connection was opened to read without a leader; open another to attach',
          );
          return;
        }
        if (this.#refusesWrites(connection)) return;
        this.#deps.attaches.attach(connection, message.id, message.payload);
        return;
      case 'request':
        this.#request(connection, message);
        return;
      case 'read':
        this.#deps.reads.read(connection, message);
        return;
      case 'heartbeat':
        this.#deps.renewals.heartbeat(connection, message.id);
        return;
      case 'ping':
        connection.send({ type: 'pong', id: message.id });
        return;
      case 'admin':
        this.#admin(connection, message.id, message.operation);
        return;
    }
  }

  #admin(connection: ClientConnection, id: number, operation: AdminOperation): void {
    connection.unansweredAdmin += 1;
    const answered = (answer: AdminAnswer): void => {
      connection.unansweredAdmin -= 1;
      connection.send({ type: 'admin-answer', id, answer });
    };
    switch (operation.type) {
      case 'transfer':
        this.#deps.transfer.wished(operation.server, answered);
        return;
      case 'members':
      case 'change-members':
        this.#deps.membership.wished(operation, answered);
        return;
    }
  }

  #hello(connection: ClientConnection, message: ClientMessage): void {
    const { clusterId } = this.#options;
    const { availability } = this.#deps;
    if (message.type !== 'hello') {
      connection.goodbye('MALFORMED', `the first message must be hello, not ${message.type}`);
    } else if (message.version !== PROTOCOL_VERSION) {
      const problem = `this server speaks protocol version ${PROTOCOL_VERSION}, the client ${message.version}`;
      connection.goodbye('VERSION_MISMATCH', `${problem}; install matching versions`);
    } else if (missingFeatures(message.required, CLIENT_FEATURES) !== 0) {
      const unknown = describeFeatures(missingFeatures(message.required, CLIENT_FEATURES));
      const problem = `the client demands features that this server does not know (${unknown})`;
      connection.goodbye('UNSUPPORTED', `${problem}; upgrade the servers first`);
    } else if (message.clusterId !== '' && message.clusterId !== clusterId) {
      const problem = `this server belongs to cluster "${clusterId}", not "${message.clusterId}"`;
      connection.goodbye('WRONG_CLUSTER', `${problem}; check the addresses`);
    } else if (availability.stopping) {
      connection.goodbye('SHUTTING_DOWN', 'the server is stopping; use another');
    } else if (!(availability.inContact || (message.withoutLeader === true && availability.showsState))) {
      connection.goodbye('NO_LEADER', 'this server has no contact to a leader; use another');
    } else {
      const againInMs = this.#deps.admission.comeAgainInMs();
      if (againInMs === undefined) {
        connection.features = commonFeatures(message.features, CLIENT_FEATURES);
        connection.withoutLeader = message.withoutLeader ?? false;
        this.#welcome(connection);
      } else {
        connection.goodbye('OVERLOADED', `many clients come at once; come again in ${againInMs} ms`, againInMs);
      }
    }
  }

  #welcome(connection: ClientConnection): void {
    const { serverId, clusterId } = this.#options;
    connection.greeted();
    this.#deps.admission.welcomed(connection);
    connection.send({
      type: 'welcome',
      version: PROTOCOL_VERSION,
      features: CLIENT_FEATURES,
      clusterId,
      server: serverId,
      leader: this.#deps.proposals.leader,
      members: this.#deps.members(),
      required: NO_FEATURES,
      term: this.#deps.term(),
      spreadMs: this.#deps.crowdSpread.ms,
    });
  }

  #request(connection: ClientConnection, message: Extract<ClientMessage, { type: 'request' }>): void {
    this.#deps.counters.requestsReceived += 1;
    const { command, number, ackedUpTo, payload } = message;
    if (!isClientCommand(command) || command === CommandType.attach) {
      // In the log an unknown command would stop every server.
      connection.goodbye('UNSUPPORTED', `command ${command} is not one that this server takes as a request`);
      return;
    }
    if (payload.length > MAX_COMMAND_BYTES) {
      connection.goodbye('LIMIT_EXCEEDED', `a command of ${payload.length} bytes is over ${MAX_COMMAND_BYTES}`);
      return;
    }
    if (connection.session === 0) {
      // What was under way when the session ended has no answer any more.
      if (!connection.detached) connection.goodbye('MALFORMED', 'a request needs a session; attach first');
      return;
    }
    if (number < FIRST_NUMBER) {
      connection.goodbye('MALFORMED', `a request has the number ${number}; a session's first one is ${FIRST_NUMBER}`);
      return;
    }
    if (this.#refusesWrites(connection)) return;
    const admission = connection.window.received(number, payload.length);
    if (admission === 'drop') return;
    if (admission === 'too-much') {
      connection.refuse(number);
      return;
    }
    if (admission === 'overflow') {
      connection.goodbye('OVERLOADED', 'too many requests are unanswered; wait for answers');
      return;
    }
    this.#deps.gate.returned(connection.habit);
    const { session, generation } = connection;
    const entry = encodeEntry({ command, session, generation, number, ackedUpTo }, payload);
    const { window } = connection;
    if (!this.#deps.proposals.submit(entry, session, window.size)) connection.refuse(window.takeBack(number));
  }

  #refusesWrites(connection: ClientConnection): boolean {
    const { acceptsWrites, haltedAt } = this.#deps.availability;
    if (acceptsWrites) return false;
    const problem = `no majority of the servers had the same state at index ${haltedAt}`;
    connection.goodbye('NO_LEADER', `writes are refused: ${problem}; an operator has to restore one`);
    return true;
  }
}
