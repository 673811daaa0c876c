// One process with the fence, as it was built: does what its parent says, one message an answer. Ends with its parent.

import { fence, install, read } from '@holdfast/fence-files';

const [directory] = process.argv.slice(2);
const slow = new Map();

async function slowWrite({ id, scope, holder, value }) {
  let ends;
  const gate = new Promise((resolve, reject) => {
    ends = { finish: resolve, abandon: () => reject(new Error('abandoned')) };
  });
  gate.catch(() => undefined);
  let whole;
  await new Promise((arrived, failed) => {
    whole = fence(directory, scope, holder, async (tx) => {
      await tx.write('a', value);
      arrived();
      await gate;
    });
    whole.catch(failed);
  });
  slow.set(id, { ...ends, whole });
}

const calls = {
  write: ({ scope, holder, value, cell }) => fence(directory, scope, holder, (tx) => tx.write(cell, value)),
  install: ({ scope, holder }) => install(directory, scope, holder),
  read: async ({ scope, cell }) => {
    const data = await read(directory, scope, cell);
    return data === undefined ? null : Buffer.from(data).toString();
  },
  slowWrite,
  finish: async ({ of }) => {
    slow.get(of).finish();
    await slow.get(of).whole;
  },
  abandon: async ({ of }) => {
    slow.get(of).abandon();
    await slow.get(of).whole.catch(() => undefined);
  },
};

async function answer(message) {
  try {
    process.send({ id: message.id, value: await calls[message.call](message) });
  } catch (error) {
    process.send({ id: message.id, failed: { code: error.code, message: `${error.name}: ${error.message}` } });
  }
}

process.on('message', (message) => void answer(message));
process.on('disconnect', () => process.exit(0));
process.send({ ready: true });
