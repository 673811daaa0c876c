/** Nodes that all clients create, set, delete and read: registers, several at once and without waiting for the answer before. */

import { HoldfastError } from '@holdfast/client';
import type { Ok } from './calls.ts';
import type { ClientSession, Workload } from './workload.ts';

const REGISTERS = 3;
/** Kinds of use of a register; the first ones change it. */
const USES = 5;
export const REGISTER_WRITES = 4;
/** Changes and reads of registers that a worker sends without waiting for the answer before. */
const MAX_AT_ONCE = 3;

export const registers: Workload = {
  name: 'registers',
  checks: ['registers'],
  async step(session) {
    const count = 1 + session.random.integer(MAX_AT_ONCE);
    await Promise.all(Array.from({ length: count }, () => useRegister(session, USES)));
  },
};

/** Of the first `uses` kinds. */
export async function useRegister(session: ClientSession, uses: number): Promise<void> {
  const { calls, client, plan, random, world } = session;
  const path = `/register-${random.integer(REGISTERS)}`;
  const { nodes, sessionId } = client;
  const value = `${plan.name}-${world.nextCall()}`;
  const data = new TextEncoder().encode(value);
  switch (random.integer(uses)) {
    case 0: {
      const create = async (): Promise<object> => {
        await nodes.create(path, data);
        return {};
      };
      await calls.make({ f: 'create', path, value, session: sessionId }, create, ['NODE_EXISTS']);
      return;
    }
    case 1: {
      const remove = async (): Promise<object> => {
        await nodes.delete(path);
        return {};
      };
      await calls.make({ f: 'delete', path, session: sessionId }, remove, ['NOT_FOUND']);
      return;
    }
    case 2:
    case 3: {
      const set = async (): Promise<Ok['set']> => {
        const { version } = await nodes.set(path, data);
        return { newVersion: version };
      };
      await calls.make({ f: 'set', path, value, session: sessionId }, set, ['NOT_FOUND']);
      return;
    }
    default:
      await calls.make({ f: 'read', path, consistency: 'linearizable', session: sessionId }, async () => {
        try {
          const { data: found, stat } = await nodes.get(path);
          return { value: new TextDecoder().decode(found), version: stat.version };
        } catch (error) {
          if (!(error instanceof HoldfastError) || error.code !== 'NOT_FOUND') throw error;
          return { value: null };
        }
      });
  }
}
