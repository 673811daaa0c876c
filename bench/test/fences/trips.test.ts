import { describe, expect, it } from 'vitest';

import { Trips } from '../../src/fences/trips.ts';

describe('the round trips of a write', () => {
  it('are as many as were waited for one after the other', async () => {
    const trips = new Trips();
    const count = await trips.of(async () => {
      for (let n = 0; n < 3; n += 1) await trips.during(async () => await Promise.resolve());
    });
    expect(count).toEqual({ sent: 3, waited: 3 });
  });

  it('are one where they are under way together', async () => {
    const trips = new Trips();
    const [first, second] = [gate(), gate()];
    const counting = trips.of(async () => {
      await Promise.all([trips.during(() => first.opened), trips.during(() => second.opened)]);
    });
    first.open();
    second.open();
    expect(await counting).toEqual({ sent: 2, waited: 1 });
  });

  it('are not waited for where the write has its answer before', async () => {
    const trips = new Trips();
    const late = gate();
    const counting = trips.of(async () => {
      await trips.during(async () => await Promise.resolve());
      void trips.during(() => late.opened);
    });
    setImmediate(() => late.open());
    expect(await counting).toEqual({ sent: 2, waited: 1 });
  });

  it('are those of this write alone, those that failed as well', async () => {
    const trips = new Trips();
    trips.begin()();
    const failing = trips.during(() => Promise.reject(new Error('refused')));
    await expect(failing).rejects.toThrow('refused');
    expect(await trips.of(async () => await Promise.resolve())).toEqual({ sent: 0, waited: 0 });
  });
});

function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open: () => open() };
}
