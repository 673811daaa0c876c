/**
 * What a client of the native protocol may say and when: hello first and once, then what the session port has. Answers what is of the
 * protocol alone, closes the connection with the reason when a rule is broken, and asks the port for everything else.
 */

import {
  ClientFeature,
  NO_FEATURES,
  PROTOCOL_VERSIONS,
  commonFeatures,
  commonVersion,
  describeFeatures,
  describeVersions,
  hasFeature,
  missingFeatures,
  type AdminAnswer,
  type ClientMessage,
} from '@holdfast/protocol';
import type { Availability } from '../../health/availability.ts';
import type { SessionPort } from '../../port/session-port.ts';
import type { ClientConnection, MessageReceiver } from './client-connection.ts';

export interface ClientMessagesDeps {
  readonly port: SessionPort;
  readonly availability: Pick<Availability, 'stopping' | 'inContact' | 'showsState'>;
}

export class ClientMessages implements MessageReceiver {
  readonly #deps: ClientMessagesDeps;
  readonly #port: SessionPort;

  constructor(deps: ClientMessagesDeps) {
    this.#deps = deps;
    this.#port = deps.port;
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
        this.#port.attach(connection.client, message.id, message.payload);
        return;
      case 'request':
        this.#port.request(connection.client, message);
        return;
      case 'read':
        this.#port.read(connection.client, message);
        return;
      case 'heartbeat':
        this.#port.renew(connection.client, message.id);
        return;
      case 'ping':
        connection.send({ type: 'pong', id: message.id });
        return;
      case 'watch':
        if (this.#watches(connection)) this.#port.watch(connection.client, message);
        return;
      case 'unwatch':
        if (this.#watches(connection)) this.#port.unwatch(connection.client, message);
        return;
      case 'admin':
        this.#admin(connection, message);
        return;
    }
  }

  /** What it would be sent, nobody may be sent who has not offered to understand it. */
  #watches(connection: ClientConnection): boolean {
    if (hasFeature(connection.features, ClientFeature.watches)) return true;
    const bit = describeFeatures(ClientFeature.watches);
    connection.goodbye(
      'UNSUPPORTED',
      `the hello of this connection did not offer watches (${bit}); say so there first`,
    );
    return false;
  }

  #admin(connection: ClientConnection, { id, operation }: Extract<ClientMessage, { type: 'admin' }>): void {
    connection.unansweredAdmin += 1;
    this.#port.admin(operation, (answer: AdminAnswer) => {
      connection.unansweredAdmin -= 1;
      connection.send({ type: 'admin-answer', id, answer });
    });
  }

  #hello(connection: ClientConnection, message: ClientMessage): void {
    const { clusterId, features } = this.#port.ensemble;
    const { availability } = this.#deps;
    if (message.type !== 'hello') {
      connection.goodbye('MALFORMED', `the first message must be hello, not ${message.type}`);
      return;
    }
    const { version: highest, lowestVersion, program = '', programVersion = '', credentials = [] } = message;
    connection.program = `${program} ${programVersion}`.trim();
    const spoken = { lowest: lowestVersion === undefined || lowestVersion === 0 ? highest : lowestVersion, highest };
    const version = commonVersion(PROTOCOL_VERSIONS, spoken);
    if (version === undefined) {
      const own = describeVersions(PROTOCOL_VERSIONS);
      const problem = `this server speaks protocol ${own}, the client ${describeVersions(spoken)}`;
      connection.goodbye('VERSION_MISMATCH', `${problem}; install matching versions`);
    } else if (missingFeatures(message.required, features) !== 0) {
      const unknown = describeFeatures(missingFeatures(message.required, features));
      const problem = `the client demands features that this server does not offer (${unknown})`;
      connection.goodbye('UNSUPPORTED', `${problem}; upgrade the servers first`);
    } else if (credentials.length > 0) {
      const schemes = credentials.map(({ scheme }) => `"${scheme}"`).join(', ');
      const problem = `this server cannot check credentials (${schemes})`;
      connection.goodbye('UNSUPPORTED', `${problem}; connect without, or upgrade the servers`);
    } else if (message.clusterId !== '' && message.clusterId !== clusterId) {
      const problem = `this server belongs to cluster "${clusterId}", not "${message.clusterId}"`;
      connection.goodbye('WRONG_CLUSTER', `${problem}; check the addresses`);
    } else if (availability.stopping) {
      connection.goodbye('SHUTTING_DOWN', 'the server is stopping; use another');
    } else if (!(availability.inContact || (message.withoutLeader === true && availability.showsState))) {
      connection.goodbye('NO_LEADER', 'this server has no contact to a leader; use another');
    } else {
      const againInMs = this.#port.admit(connection.client);
      if (againInMs === undefined) {
        connection.features = commonFeatures(message.features, features);
        connection.withoutLeader = message.withoutLeader ?? false;
        this.#welcome(connection, version);
      } else {
        connection.goodbye('OVERLOADED', `many clients come at once; come again in ${againInMs} ms`, againInMs);
      }
    }
  }

  #welcome(connection: ClientConnection, version: number): void {
    const { server, clusterId, features, leader, members, term, spreadMs } = this.#port.ensemble;
    connection.greeted();
    connection.send({
      type: 'welcome',
      version,
      features,
      clusterId,
      server,
      leader,
      members,
      required: NO_FEATURES,
      term,
      spreadMs,
    });
  }
}
