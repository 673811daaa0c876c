import { describe, expect, it } from 'vitest';
import { Together } from '../../../src/targets/live/network/together.ts';

describe('what is asked for one by one', () => {
  it('is done at once when whoever asks is done asking, and again for what is asked later', async () => {
    const done: number[][] = [];
    const together = new Together<number>((all) => void done.push([...all]));
    await Promise.all([together.add(1), together.add(2)]);
    await together.add(3);
    expect(done).toEqual([[1, 2], [3]]);
  });

  it('fails for everybody who asked, and for nobody else', async () => {
    let works = false;
    const together = new Together<number>(() => {
      if (!works) throw new Error('no');
    });
    const results = await Promise.allSettled([together.add(1), together.add(2)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    works = true;
    await expect(together.add(3)).resolves.toBeUndefined();
  });
});
