/** Makes servers, and has them act. */

import {
  DEFAULT_RAFT_LIMITS,
  EMPTY_CONFIGURATION,
  initialConfiguration,
  serverId,
  type RaftConfig,
  type ServerId,
} from '@holdfast/raft/core';

import { EMPTY_DISK, atStart, bootFrom, damaged, type Disk } from '../../cores/disk.ts';
import { ELECTION_TIMEOUT_MS, HEARTBEAT_MS, NO_RANDOMNESS, checkFields, openState } from '../world/normal-form.ts';
import type { CoreModule } from './opened-core.ts';
import { addressOf, type Outcome, type Server, type ServerAction, type ServerRules } from './server.ts';
import { ServerRun } from './server-run.ts';
import { copyOf, textOf } from '../world/structure.ts';

/** Every entry is an append of its own. */
const APPEND_BYTES = 1;
const CONSTANTS: ReadonlySet<unknown> = new Set([NO_RANDOMNESS]);

export class ServerFactory {
  readonly #module: CoreModule;
  readonly #rules: ServerRules;
  readonly ids: readonly ServerId[];

  constructor(module: CoreModule, rules: ServerRules) {
    this.#module = module;
    this.#rules = rules;
    this.ids = Array.from({ length: rules.voters + rules.spares }, (_, position) => serverId(position + 1));
  }

  /** One that was never started before. */
  create(id: ServerId): Server {
    return this.#start(id, EMPTY_DISK).server;
  }

  /** @throws InvariantError of the core */
  act(server: Server, id: ServerId, action: ServerAction): Outcome {
    if (action.type === 'crash') return this.#start(id, server.disk);
    if (action.type === 'damage') return this.#start(id, damaged(server.disk, action.kept));
    const run = new ServerRun(id, this.#rules, { ...server, core: copyOf(server.core, CONSTANTS) });
    run.perform(action);
    return run.end();
  }

  /** Equal for two servers that can be told apart by nothing. */
  textOf(server: Server): string {
    return textOf(server, CONSTANTS);
  }

  #start(id: ServerId, disk: Disk): Outcome {
    const { voters, maxInflightMessages } = this.#rules;
    const members = this.ids.slice(0, voters).map((member) => ({ id: member, peerAddress: addressOf(member) }));
    const config: RaftConfig = Object.freeze({
      ...DEFAULT_RAFT_LIMITS,
      heartbeatMs: HEARTBEAT_MS,
      electionTimeoutMs: ELECTION_TIMEOUT_MS,
      // Clocks and disks that hang are for the simulation.
      diskStallMs: Infinity,
      deferredFollowerDelayMs: 0,
      maxAppendBytes: APPEND_BYTES,
      maxInflightMessages,
      id,
      initial: id > voters ? EMPTY_CONFIGURATION : initialConfiguration(members),
      seed: 0,
    });
    const found = atStart(disk);
    const core = new this.#module.RaftCore(config, bootFrom(found), 0);
    const state = openState(core);
    checkFields(state);
    state.random = NO_RANDOMNESS;
    const applied = found.snapshot?.state ?? [];
    const run = new ServerRun(id, this.#rules, { core, disk: found, writes: [], held: [], applied });
    run.step(...this.ids.filter((peer) => peer !== id).map((peer) => ({ type: 'peer-connected', peer }) as const));
    return run.end();
  }
}
