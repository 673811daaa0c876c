import { describe, expect, it } from 'vitest';

import { pathProblem } from '../../src/http/path.ts';

const KEYS = '/v1/buckets/aa/keys';

describe('a path', () => {
  it.each([
    '/health',
    '/v1/buckets/aa',
    KEYS,
    `${KEYS}?prefix=a%2Fb//..&after=../x`,
    `${KEYS}/42`,
    `${KEYS}/a%2Fb`,
    `${KEYS}/%2e%2e%2fbb`,
    `${KEYS}/..%2F..%2Fbb`,
    `${KEYS}/...`,
    `${KEYS}/a..`,
    `${KEYS}/%C3%A9%20%F0%9F%98%80`,
    `${KEYS}/%00`,
    `${KEYS}/%25`,
    `${KEYS}/`,
    `${KEYS}/${encodeURIComponent(`!"#$%&'()*+,-./:;<=>?@[\\]^_\`{|}~`)}`,
    'http://127.0.0.1:7400/v1/buckets/aa',
    '/',
  ])('%s goes on', (target) => {
    expect(pathProblem(target)).toBeUndefined();
  });

  it.each([
    `${KEYS}/%2e%2e/%2e%2e/bb/keys/z`,
    `${KEYS}/x/../../../bb/keys/y`,
    `${KEYS}/.`,
    `${KEYS}/..`,
    `${KEYS}/%2E`,
    `${KEYS}/.%2e`,
    `${KEYS}/x/./y`,
    '/v1/./buckets/aa',
    '//v1/buckets/aa',
    '/v1//buckets/aa',
    `/v1/buckets//keys/x`,
    '/v1/buckets/%61a/keys/x',
    '/v1/buckets/aa/%6beys/x',
    '/%761/buckets/aa',
    '/v1\\buckets\\aa',
    `${KEYS}/a\\..\\b`,
    `${KEYS}/a b`,
    `${KEYS}/\u00e9`,
    `${KEYS}/a#b`,
    `${KEYS}/a"b`,
    'v1/buckets/aa',
    '*',
    '',
    'http://127.0.0.1:7400//v1',
    'http://127.0.0.1:7400/v1/../x',
  ])('%j is refused with what is wrong', (target) => {
    expect(pathProblem(target)).toContain('is not in its normal form');
  });

  it('that is refused is quoted by its first 200 characters', () => {
    expect(pathProblem(`/${'%41'.repeat(5_000)}`)?.length).toBeLessThan(300);
  });
});
