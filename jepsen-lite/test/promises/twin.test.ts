import type { Client } from '@holdfast/client';
import { testEnsemble } from '@holdfast/testing';
import { promisesOf, type Subject } from './suite.ts';

const MAX_STEPS = 600;

async function twin(): Promise<Subject> {
  const ensemble = await testEnsemble();
  return {
    connect: (options) => ensemble.connect({ sessionTimeoutMs: 2_000, ...options }),
    complete: (promise) => promise,
    async until(condition) {
      for (let step = 0; !condition(); step += 1) {
        if (step === MAX_STEPS) throw new Error(`not within ${MAX_STEPS} steps of 100 ms: ${condition.toString()}`);
        await ensemble.advance('100ms');
      }
    },
    expire: async (client: Client) => await ensemble.expire(client),
    async changeLeader() {
      const { leader } = ensemble;
      ensemble.kill(leader);
      await ensemble.advance('3s');
      await ensemble.restart(leader);
    },
    agreed: () => ensemble.advance('40s'),
    close: () => ensemble.close(),
  };
}

promisesOf('the twin', twin);
