import { applications } from '../../../packages/ensemble/test/support/applications.ts';
import { promisesOf, type Subject } from './suite.ts';

async function simulation(): Promise<Subject> {
  const world = await applications(7);
  return {
    connect: (options) => world.connect(options),
    complete: (promise) => world.complete(promise),
    until: (condition) => world.ensemble.until(condition),
    expire: (client) => world.expire(client),
    changeLeader: () => world.changeLeader(),
    agreed: () => Promise.resolve(),
    async close() {
      await world.close();
    },
  };
}

promisesOf('the simulation', simulation);
