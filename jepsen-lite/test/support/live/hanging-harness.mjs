// A harness that dies: makes a volume below DIRECTORY, starts a writer on it, hangs the disk for good, and says so.

import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const [volumes, writer, directory] = process.argv.slice(2);
const { Volumes } = await import(volumes);
const volume = await (await Volumes.open({ directory })).create('left');
// Its output goes nowhere: it must outlive its parent.
const child = spawn(process.execPath, [writer, volume.path], { stdio: 'ignore', detached: true });
while (!existsSync(`${volume.path}/log`)) await delay(5);
await volume.hang(2 ** 30, child.pid);
process.stdout.write(`hangs ${child.pid} ${volume.path}\n`);
