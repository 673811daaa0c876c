/** The files that the suite writes, through the fence or through a broken one. */

import type { FencedResource, Holder, SlowWrite } from '@holdfast/fence-conformance';
import { RULES, type Rules } from '@holdfast/fence-manifest';
import { fenceBy, installBy } from '../../src/fence.ts';
import { read } from '../../src/index.ts';

/** Names as nobody would choose them. */
const ODD_NAMES = ['..', '../../x', "O'Brien & sons", '%2F', 'ü/💡', '\n', 'x'.repeat(190)];
let names = 0;

export function oddScope(): string {
  names += 1;
  return `${ODD_NAMES[names % ODD_NAMES.length]}${process.pid}-${names}`;
}

/** @param rules those of the fence, or broken ones */
export function cellsIn(directory: string, rules: Rules = RULES): () => Promise<FencedResource> {
  return async () => ({
    cells: true,
    scope: oddScope,
    write: (scope, holder, value, cell = 'a') =>
      fenceBy(rules, directory, scope, holder, (tx) => tx.write(cell, value), {}),
    read: async (scope, _holder, cell = 'a') => {
      const data = await read(directory, scope, cell);
      return data === undefined ? null : Buffer.from(data).toString();
    },
    install: (scope, holder) => installBy(rules, directory, scope, holder, {}),
    slowWrite: (scope, holder, value) => slowWrite(rules, directory, scope, holder, value),
    other: cellsIn(directory, rules),
  });
}

class Abandoned extends Error {}

async function slowWrite(
  rules: Rules,
  directory: string,
  scope: string,
  holder: Holder,
  value: string,
): Promise<SlowWrite> {
  let goOn: () => void = () => undefined;
  let giveUp: (error: Error) => void = () => undefined;
  const gate = new Promise<void>((resolve, reject) => {
    goOn = resolve;
    giveUp = reject;
  });
  gate.catch(() => undefined);
  let whole: Promise<void> = Promise.resolve();
  await new Promise<void>((arrived, failed) => {
    whole = fenceBy(
      rules,
      directory,
      scope,
      holder,
      async (tx) => {
        await tx.write('a', value);
        arrived();
        await gate;
      },
      {},
    );
    whole.catch(failed);
  });
  return {
    finish: async () => {
      goOn();
      await whole;
    },
    abandon: async () => {
      giveUp(new Abandoned());
      await whole.catch(() => undefined);
    },
  };
}
