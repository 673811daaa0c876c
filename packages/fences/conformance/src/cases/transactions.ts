/** Between the check of a token and the commit of its write there is time. These cases stop a writer there. */

import { defineCase, type ConformanceCase } from '../case.ts';
import { expectAccepted, expectRefused, expectThat, expectValue, inTime, isRefusal, moment, shown } from '../checks.ts';
import type { FencedResource, SlowWrite } from '../resource.ts';

const OLD = { token: 5 };
const NEW = { token: 7 };

async function begin(resource: FencedResource, scope: string, holder: typeof OLD, value: string): Promise<SlowWrite> {
  const slow = await inTime(
    'the beginning of a slow write',
    async () => await resource.slowWrite?.(scope, holder, value),
  );
  expectThat(slow !== undefined, 'slowWrite gave nothing');
  return slow;
}

/** A transaction that was ended under it may say so by whatever error. */
async function finished(slow: SlowWrite): Promise<{ readonly committed: boolean; readonly text: string }> {
  try {
    await inTime('the end of a slow write', () => slow.finish());
    return { committed: true, text: 'it was committed' };
  } catch (error) {
    const text = isRefusal(error) ? 'it was refused' : `it failed: ${String(error)}`;
    return { committed: false, text };
  }
}

export const transactionCases: readonly ConformanceCase[] = [
  defineCase('a new holder reads nothing that is about to be overwritten', ['slowWrite'], async (stage) => {
    const { resource } = stage;
    const newcomer = await stage.another();
    const scope = await resource.scope();
    await expectAccepted('the first write', () => resource.write(scope, OLD, 'before'));
    const slow = await begin(resource, scope, OLD, 'late');
    // It waits for the transaction that is under way, or ends it; whichever, what it reads then must stay.
    const taking = (async () => {
      await newcomer.install(scope, NEW);
      return await newcomer.read(scope, NEW);
    })();
    taking.catch(() => undefined);
    await Promise.race([taking.catch(() => undefined), moment()]);
    const old = await finished(slow);
    const seen = await inTime('the install and the read of a new holder', () => taking);
    const after = await newcomer.read(scope, NEW);
    const story = `a write under 5 was between its check and its commit when 7 was installed; ${old.text}`;
    expectThat(seen === after, `the new holder read ${shown(seen)}, and then ${shown(after)}: ${story}`);
    expectThat(after === (old.committed ? 'late' : 'before'), `the value is ${shown(after)}: ${story}`);
    await expectRefused('a further write under 5', () => resource.write(scope, OLD, 'stale'));
  }),

  defineCase('a write that was checked in time does not come behind a newer one', ['slowWrite'], async (stage) => {
    const { resource } = stage;
    const newcomer = await stage.another();
    const scope = await resource.scope();
    await expectAccepted('the first write', () => resource.write(scope, OLD, 'before'));
    const slow = await begin(resource, scope, OLD, 'late');
    const writing = newcomer.write(scope, NEW, 'newer');
    writing.catch(() => undefined);
    await Promise.race([writing.catch(() => undefined), moment()]);
    const old = await finished(slow);
    await expectAccepted('the write under 7', () => writing);
    await expectValue(newcomer, scope, 'newer', `a write under 5 came behind that under 7; ${old.text}`);
  }),

  defineCase('a write that is rolled back leaves value and token', ['slowWrite'], async ({ resource, another }) => {
    const scope = await resource.scope();
    const other = await another();
    await expectAccepted('the first write', () => resource.write(scope, OLD, 'before'));
    await expectAccepted('the install of 7', () => resource.install(scope, NEW));
    const slow = await begin(resource, scope, NEW, 'never');
    await inTime('the roll-back', () => slow.abandon());
    await expectValue(other, scope, 'before', 'a write that was rolled back must change nothing');
    await expectRefused('a write under 5', () => other.write(scope, OLD, 'stale'));
    await expectAccepted('the write under 7, again', () => other.write(scope, NEW, 'after all'));
    await expectValue(other, scope, 'after all', 'it was written last');
  }),

  defineCase('a first write that is rolled back leaves the scope to others', ['slowWrite'], async (stage) => {
    const { resource } = stage;
    const scope = await resource.scope();
    const other = await stage.another();
    const slow = await begin(resource, scope, OLD, 'never');
    await inTime('the roll-back', () => slow.abandon());
    await expectValue(other, scope, null, 'a write that was rolled back must change nothing');
    await expectAccepted('a write under 7', () => other.write(scope, NEW, 'newer'));
    await expectRefused('a write under 5', () => other.write(scope, OLD, 'stale'));
  }),
];
