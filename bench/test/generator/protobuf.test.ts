import { describe, expect, it } from 'vitest';

import { lockRequest, readLeaseId } from '../../src/generator/etcd/messages.ts';
import { ProtoWriter, protoFields } from '../../src/generator/etcd/protobuf.ts';

describe('protocol buffers', () => {
  it('encodes the examples of its documentation', () => {
    expect(new ProtoWriter().integer(1, 150).finish().toString('hex')).toBe('089601');
    expect(new ProtoWriter().bytes(2, 'testing').finish().toString('hex')).toBe('120774657374696e67');
    const inner = new ProtoWriter().integer(1, 150);
    expect(new ProtoWriter().message(3, inner).finish().toString('hex')).toBe('1a03089601');
  });

  it('leaves out what has its default value, but not an empty message', () => {
    expect(new ProtoWriter().integer(1, 0).bytes(2, '').finish()).toHaveLength(0);
    expect(new ProtoWriter().message(1, new ProtoWriter()).finish().toString('hex')).toBe('0a00');
  });

  it('keeps all 63 bits of a lease', () => {
    const lease = 0x7eadbeefcafef00dn;
    const response = new ProtoWriter().message(1, new ProtoWriter()).integer(2, lease).finish();
    expect(readLeaseId(response)).toBe(lease);
  });

  it('grows, and reads past fields of fixed width', () => {
    const bytes = Buffer.concat([
      Buffer.from([0x09, 1, 2, 3, 4, 5, 6, 7, 8, 0x15, 1, 2, 3, 4]),
      new ProtoWriter().bytes(3, new Uint8Array(1_000).fill(1)).finish(),
    ]);
    const [field, ...others] = [...protoFields(bytes)];
    expect(others).toEqual([]);
    expect(field).toMatchObject({ number: 3 });
    expect(field?.bytes).toHaveLength(1_000);
  });

  it('makes a lock of one comparison, two requests on success and two on failure', () => {
    const fields = [...protoFields(lockRequest('lock/a', 'lock/', 10n).finish())];
    expect(fields.map(({ number }) => number)).toEqual([1, 2, 2, 3, 3]);
  });
});
