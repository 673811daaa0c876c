import type { Client } from '@holdfast/client';
import { ConfigurationError, EnsembleConfiguration, MAX_REPLICAS } from '@holdfast/fenced-kv/test/replication';
import { testEnsemble, type TestEnsemble } from '@holdfast/testing';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let ensemble: TestEnsemble;
let client: Client;
let groups = 0;

beforeAll(async () => {
  ensemble = await testEnsemble({ servers: 1 });
  client = await ensemble.connect();
});

afterAll(async () => {
  await ensemble.close();
});

function newGroup(): EnsembleConfiguration {
  groups += 1;
  return new EnsembleConfiguration(client.nodes, `group-${groups}`);
}

describe('the configuration of a group in the ensemble', () => {
  it('begins with the replicas that an operator names, and changes nothing where there is one', async () => {
    const configuration = newGroup();
    const first = { epoch: 0, primary: 'r1', inSync: ['r1', 'r2', 'r3'], version: 0 };
    expect(await configuration.create(['r1', 'r2', 'r3'])).toEqual(first);
    expect(await configuration.create(['r4'])).toEqual(first);
    expect(await configuration.read()).toEqual(first);
  });

  it('changes by a write that names its version, and by no other', async () => {
    const configuration = newGroup();
    await configuration.create(['r1', 'r2', 'r3']);
    const claim = { epoch: 57, primary: 'r2', inSync: ['r1', 'r2', 'r3'] };
    expect(await configuration.write(0, claim)).toEqual({ ...claim, version: 1 });
    // The answer was lost, and it is sent again.
    expect(await configuration.write(0, claim)).toEqual({ ...claim, version: 1 });
    const late = { epoch: 41, primary: 'r1', inSync: ['r1', 'r3'] };
    expect(await configuration.write(0, late)).toEqual({ ...claim, version: 1 });
    expect(await configuration.read()).toEqual({ ...claim, version: 1 });
  });

  it('says that there is no group', async () => {
    await expect(newGroup().read()).rejects.toThrow(
      /there is no group at .fenced-kv.group-\d+.configuration; create it/,
    );
  });

  it.each(['', '.hidden', 'a/b', 'a b', 'ä', 'x'.repeat(65)])('takes no group of the name "%s"', (name) => {
    expect(() => new EnsembleConfiguration(client.nodes, name)).toThrow(ConfigurationError);
  });

  it.each([
    ['none', []],
    ['one twice', ['r1', 'r1']],
    ['one without a name', ['r1', '']],
    ['too many', Array.from({ length: MAX_REPLICAS + 1 }, (_, at) => `r${at}`)],
  ])('does not begin with %s', async (_, inSync) => {
    const configuration = newGroup();
    await expect(configuration.create(inSync)).rejects.toThrow(ConfigurationError);
    await expect(configuration.read()).rejects.toThrow('there is no group');
  });

  it.each([
    ['is not JSON', 'x', 'is not JSON'],
    ['is a list', '[]', 'is no object'],
    ['is of a later version', '{"format":2}', 'has another format'],
    ['lacks its epoch', '{"format":1,"primary":"r1","inSync":["r1"]}', 'epoch'],
    [
      'has a primary from outside',
      '{"format":1,"epoch":1,"primary":"r9","inSync":["r1"]}',
      'a primary that is not in sync',
    ],
  ])('refuses a node that %s', async (_, text, problem) => {
    const configuration = newGroup();
    await configuration.create(['r1']);
    await client.nodes.set(configuration.path, text);
    await expect(configuration.read()).rejects.toThrow(problem);
  });
});
