// Appends numbered records to DIRECTORY/log, each durably, and prints the number of each that is. Prints what fails, and tries it again;
// prints how long a write took, in milliseconds, when that was long.

import { constants, mkdirSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';

const RECORD_BYTES = 1_500;
const LONG_MS = 20;

const [directory] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const { O_CREAT, O_RDWR, O_DSYNC } = constants;
const log = await open(`${directory}/log`, O_CREAT | O_RDWR | O_DSYNC);
const { size } = await log.stat();
for (const path of [directory, `${directory}/..`]) {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
const room = Buffer.alloc(RECORD_BYTES);
for (let number = Math.ceil(size / RECORD_BYTES); ; number += 1) {
  const record = Buffer.alloc(RECORD_BYTES, 1 + (number % 250));
  for (;;) {
    try {
      const beganMs = performance.now();
      await log.write(record, 0, RECORD_BYTES, number * RECORD_BYTES);
      const tookMs = performance.now() - beganMs;
      if (tookMs > LONG_MS) process.stdout.write(`took ${tookMs}\n`);
      await log.datasync();
      await log.read(room, 0, RECORD_BYTES, number * RECORD_BYTES);
      break;
    } catch (error) {
      process.stdout.write(`${error.syscall} ${error.code}\n`);
      await delay(5);
    }
  }
  process.stdout.write(`${number}\n`);
}
