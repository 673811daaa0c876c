import { describe, expect, it } from 'vitest';

import { CommandFailure, reportFailure, UsageFailure } from '../src/failure.ts';
import { CodedError } from './support/fake-client.ts';

describe('a failure', () => {
  it('is one line that says what to do next', () => {
    expect(reportFailure(new CodedError('NODE_EXISTS', 'a node exists\n at "/a".'))).toEqual({
      message: 'a node exists at "/a"; change it with "lockctl set"',
      exitCode: 1,
    });
  });

  it('of what is not there points to what lists such things', () => {
    const missing = new CodedError('NOT_FOUND', 'there is none');
    expect(reportFailure(missing, 'member').message).toContain('"lockctl members"');
    expect(reportFailure(missing, 'session').message).toContain('"lockctl sessions"');
    expect(reportFailure(missing, 'lock').message).toContain('"lockctl locks"');
    expect(reportFailure(missing, 'node').message).toContain('"lockctl ls"');
    expect(reportFailure(missing).message).toBe('there is none');
  });

  it('keeps its own words and exit code when a command made it', () => {
    expect(reportFailure(new CommandFailure('not free', 75))).toEqual({ message: 'not free', exitCode: 75 });
    expect(reportFailure(new UsageFailure('no such mode'))).toEqual({ message: 'no such mode', exitCode: 2 });
  });

  it('of an argument that the SDK refuses is a usage error', () => {
    expect(reportFailure(new CodedError('INVALID_ARGUMENT', 'path is empty')).exitCode).toBe(2);
  });

  it('of any other kind says what it knows', () => {
    expect(reportFailure(new Error('boom'))).toEqual({ message: 'boom', exitCode: 1 });
    expect(reportFailure('text')).toEqual({ message: 'text', exitCode: 1 });
  });
});
