#!/usr/bin/env node
/** The program fenced-kvd: binds the commands to this process's arguments, signals, clock, disk and streams. */

import { pino } from 'pino';
import { descriptorLimit, nodeRuntime } from '@holdfast/runtime/node';

import { backup, restore } from './daemon/backup.ts';
import { bind } from './daemon/bind.ts';
import { connectToEnsemble, linkToEnsemble } from './daemon/ensemble-authority.ts';
import { resetFence } from './daemon/reset-fence.ts';
import { runProgram } from './daemon/program.ts';
import { serve } from './daemon/serve.ts';

/** Further signals are ignored: a terminal and a launcher may each send one, and the stop is bounded in time. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    process.on('SIGINT', resolve);
    process.on('SIGTERM', resolve);
    process.on('SIGHUP', resolve);
  });
}

// Whoever started the program may stop reading what it prints.
process.stdout.on('error', () => {});
process.stderr.on('error', () => {});

process.exitCode = await runProgram(process.argv.slice(2), {
  async serve({ logLevel, ...options }) {
    const logger = pino({ name: 'fenced-kvd', level: logLevel }, pino.destination(2));
    await serve(options, {
      ...nodeRuntime({ logger }),
      logger,
      descriptorLimit: descriptorLimit(),
      linkToEnsemble: (servers) => linkToEnsemble(servers, { logger }),
      connectToEnsemble: async (servers, session) => await connectToEnsemble(servers, { ...session, logger }),
      stopRequested: stopSignal(),
      onServing: (url) => process.stdout.write(`fenced-kvd serves ${url}\n`),
    });
  },
  async resetFence(bucket, options) {
    const logger = pino({ name: 'fenced-kvd' }, pino.destination(2));
    const { disk } = nodeRuntime({ logger });
    const { highest, previous } = await resetFence(bucket, options, { disk, logger });
    process.stdout.write(`bucket ${bucket}: highest token ${previous} -> ${highest}\n`);
  },
  async bind(bucket, options) {
    const logger = pino({ name: 'fenced-kvd' }, pino.destination(2));
    const { disk } = nodeRuntime({ logger });
    const { previous } = await bind(bucket, options, { disk, logger });
    process.stdout.write(`bucket ${bucket}: lock ${previous ?? 'none'} -> ${options.lock}\n`);
  },
  async backup(options) {
    const logger = pino({ name: 'fenced-kvd' }, pino.destination(2));
    const { disk } = nodeRuntime({ logger });
    const { buckets, keys } = await backup(options, { disk, logger });
    process.stdout.write(`backup ${options.to}: ${buckets} buckets, ${keys} keys\n`);
  },
  async restore(options) {
    const logger = pino({ name: 'fenced-kvd' }, pino.destination(2));
    const { disk } = nodeRuntime({ logger });
    const { buckets, keys, keptFences } = await restore(options, { disk, logger });
    process.stdout.write(`restored ${buckets} buckets, ${keys} keys; ${keptFences} buckets keep a higher fence\n`);
  },
  printError: (line) => process.stderr.write(`${line}\n`),
});
