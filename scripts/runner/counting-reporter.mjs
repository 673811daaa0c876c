// A vitest reporter that writes how many tests passed and failed, and which were skipped and why, to $HOLDFAST_TEST_COUNTS.

import { writeFileSync } from 'node:fs';

export default class CountingReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: unhandledErrors.length, skipped: [] };
    for (const module of modules) {
      if (module.state() === 'failed' && module.errors().length > 0) counts.failed += 1;
      for (const test of module.children.allTests()) count(counts, test);
    }
    writeFileSync(process.env.HOLDFAST_TEST_COUNTS, JSON.stringify(counts));
  }
}

function count(counts, test) {
  const result = test.result();
  if (result.state === 'passed') counts.passed += 1;
  else if (result.state === 'failed') counts.failed += 1;
  else counts.skipped.push({ name: test.fullName, reason: result.note ?? 'no reason given' });
}
