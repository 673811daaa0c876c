// A vitest reporter that writes how many tests passed, which failed and with what, and which were skipped and why, to
// $HOLDFAST_TEST_COUNTS.

import { writeFileSync } from 'node:fs';

export default class CountingReporter {
  onTestRunEnd(modules, unhandledErrors) {
    const counts = { passed: 0, failed: [], skipped: [] };
    if (unhandledErrors.length > 0) counts.failed.push(failure('outside of any test', unhandledErrors));
    for (const module of modules) {
      const errors = module.errors();
      if (errors.length > 0) counts.failed.push(failure(module.relativeModuleId, errors, module.relativeModuleId));
      for (const test of module.children.allTests()) count(counts, test);
    }
    writeFileSync(process.env.HOLDFAST_TEST_COUNTS, JSON.stringify(counts));
  }
}

function count(counts, test) {
  const result = test.result();
  if (result.state === 'passed') counts.passed += 1;
  else if (result.state === 'failed') {
    const { relativeModuleId: file } = test.module;
    counts.failed.push(failure(`${file} > ${test.fullName}`, result.errors, file));
  } else counts.skipped.push({ name: test.fullName, reason: result.note ?? 'no reason given' });
}

/** @param {string} [file] its tests can be run again; undefined: it was no file's */
function failure(name, errors, file) {
  const [{ message = '', stack = '' } = {}] = errors;
  const place = /\S+\.test\.ts:\d+/.exec(stack)?.[0] ?? '';
  return { name, file, reason: [message.split('\n')[0], place].filter((text) => text !== '').join(', at ') };
}
