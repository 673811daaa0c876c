/** The cells that the suite writes: keys of a scope, through the fence or through a broken one. */

import type { FencedResource, Holder, SlowWrite } from '@holdfast/fence-conformance';
import { fenceBy, installBy } from '../../src/fence.ts';
import { keyOf, type RedisTransaction } from '../../src/index.ts';
import { SCRIPTS, type Scripts } from '../../src/scripts.ts';
import { openClient, type Kind, type OpenClient } from './clients.ts';
import type { RedisServer } from './server.ts';

/** How a cell is written: through the transaction, or past it. */
type Put = (tx: RedisTransaction, key: string, value: string, open: OpenClient, holder: Holder) => Promise<void>;

export interface CellsOptions {
  /** Those of the fence, or broken ones. */
  readonly scripts?: Scripts;
  readonly put?: Put;
  /** A holder's own install. */
  readonly install?: (open: OpenClient, scope: string, holder: Holder) => Promise<void>;
}

class Abandoned extends Error {}

/** Names as nobody would choose them: braces end hash tags, and Lua has its own. */
const ODD_NAMES = ["O'Brien", '"]; redis.call("FLUSHALL") --', '{}', 'a{b}c', '}{', 'ü/💡', '%s %D', 'x'.repeat(150)];
let names = 0;

const put: Put = async (tx, key, value) => tx.set(key, value);

export function cellsOn(server: RedisServer, kind: Kind, options: CellsOptions = {}): () => Promise<FencedResource> {
  const { scripts = SCRIPTS, put: write = put, install = installBySuite(scripts) } = options;
  const resource = (open: OpenClient): FencedResource => {
    const fenced = (scope: string, holder: Holder, body: (tx: RedisTransaction) => Promise<void>): Promise<void> =>
      fenceBy({ scripts, redis: open.client, scope, holder, options: {} }, body);
    return {
      cells: true,
      scope: () => {
        names += 1;
        return `${ODD_NAMES[names % ODD_NAMES.length]} ${names}`;
      },
      write: (scope, holder, value, cell = 'a') =>
        fenced(scope, holder, (tx) => write(tx, keyOf(scope, cell), value, open, holder)),
      read: async (scope, holder, cell = 'a') => {
        const key = keyOf(scope, cell);
        const value = await open.plain('GET', key);
        return typeof value === 'string' ? value : null;
      },
      install: (scope, holder) => install(open, scope, holder),
      slowWrite: async (scope, holder, value) =>
        await slowWrite((goOn) =>
          fenced(scope, holder, async (tx) => {
            await goOn();
            await write(tx, keyOf(scope, 'a'), value, open, holder);
          }),
        ),
      other: async () => resource(await openClient(kind, server.port)),
      restart: () => server.restart(),
      crash: () => server.crash(),
      close: () => open.close(),
    };
  };
  return async () => resource(await openClient(kind, server.port));
}

function installBySuite(scripts: Scripts): NonNullable<CellsOptions['install']> {
  return ({ client }, scope, holder) => installBy({ scripts, redis: client, scope, holder, options: {} });
}

async function slowWrite(whole: (goOn: () => Promise<void>) => Promise<void>): Promise<SlowWrite> {
  let open: (() => void) | undefined;
  let giveUp: ((error: Error) => void) | undefined;
  const gate = new Promise<void>((resolve, reject) => {
    open = resolve;
    giveUp = reject;
  });
  gate.catch(() => undefined);
  let done: Promise<void> | undefined;
  await new Promise<void>((arrived, failed) => {
    done = whole(async () => {
      arrived();
      await gate;
    });
    done.catch(failed);
  });
  return {
    finish: async () => {
      open?.();
      await done;
    },
    abandon: async () => {
      giveUp?.(new Abandoned());
      await done?.catch(() => undefined);
    },
  };
}
