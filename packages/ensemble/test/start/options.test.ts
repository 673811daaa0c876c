import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { parseStartOptions } from '../../src/start/options.ts';

describe('the options of start', () => {
  let complaints = '';
  beforeEach(() => {
    complaints = '';
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      complaints += String(text);
      return true;
    });
    vi.spyOn(process.stdout, 'write').mockImplementation(() => true);
  });
  afterEach(() => void vi.restoreAllMocks());

  it('are three servers on the documented ports by default', () => {
    const options = { servers: 3, basePort: 7_100, data: '.holdfast', fresh: false };
    expect(parseStartOptions([])).toEqual({ type: 'start', options });
    expect(parseStartOptions(['--'])).toEqual({ type: 'start', options });
  });

  it('are the same with and without a leading "--"', () => {
    const args = ['--servers', '5', '--fresh', '--base-port', '9000', '--data', 'x'];
    const options = { servers: 5, basePort: 9_000, data: 'x', fresh: true };
    expect(parseStartOptions(args)).toEqual({ type: 'start', options });
    expect(parseStartOptions(['--', ...args])).toEqual({ type: 'start', options });
  });

  it.for([
    ['--servers', '0'],
    ['--servers', '10'],
    ['--servers', '3x'],
    ['--servers', '1.5'],
    ['--servers', '-1'],
    ['--servers', ''],
    ['--base-port', 'http'],
    ['--base-port', '80'],
    ['--base-port', '65500'],
  ])('%j are refused with what is accepted', (args) => {
    expect(parseStartOptions(args)).toEqual({ type: 'exit', code: 2 });
    expect(complaints).toContain('It must be a whole number from');
  });

  it.for([
    [['--nonsense'], "unknown option '--nonsense'"],
    [['extra'], 'too many arguments'],
    [['--servers'], "option '--servers <n>' argument missing"],
    [['--base-port'], "option '--base-port <port>' argument missing"],
    [['--data'], "option '--data <directory>' argument missing"],
    [['--data', ''], '--data'],
  ] as const)('%j are refused with what is wrong', ([args, reason]) => {
    expect(parseStartOptions(args)).toEqual({ type: 'exit', code: 2 });
    expect(complaints).toContain(reason);
  });

  it('ask for help without starting anything', () => {
    expect(parseStartOptions(['--help'])).toEqual({ type: 'exit', code: 0 });
  });
});
