// Takes a directory and holds it until it is killed; says how it went. Started by directory-lock.test.ts.
import { nodeDisk } from '@holdfast/runtime/node';

try {
  await nodeDisk().lockDirectory(process.argv[2] ?? '');
  process.stdout.write('HELD\n');
  if (process.argv[3] === 'stay') setInterval(() => {}, 1_000);
} catch (error) {
  process.stdout.write(`${error.code}\n`);
}
