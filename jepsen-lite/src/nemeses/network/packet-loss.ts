/** A share of all packets is dropped; TCP sends them again, after pauses that grow when it is dropped again. */

import { oneOf } from '../../plan/choices.ts';
import { number } from '../../plan/fields.ts';
import { nemesis } from '../nemesis.ts';

export const packetLoss = nemesis({
  kind: 'packet-loss',
  lasts: true,
  fields: { share: number },
  needs: ['links'],
  oneIn: 8,
  ownStream: true,
  strikes: ['packet-dropped'],
  draw: ({ random, lasting }) => [{ kind: 'packet-loss', ...lasting, share: oneOf(random, [0.01, 0.05, 0.2]) }],
  begin: (fault, { links }) => links.setPacketLoss(fault.share),
  end: (_fault, { links }) => links.setPacketLoss(0),
});
