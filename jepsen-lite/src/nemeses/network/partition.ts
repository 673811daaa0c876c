/** No host reaches one of another group. A host that is in no group reaches everybody. */

import { oneOf } from '../../plan/choices.ts';
import { groups } from '../../plan/fields.ts';
import { STORE_HOST } from '../../plan/plan.ts';
import { each } from '../target.ts';
import { nemesis, type FaultDraw } from '../nemesis.ts';

export const partition = nemesis({
  kind: 'partition',
  lasts: true,
  fields: { groups },
  needs: ['links'],
  oneIn: 4,
  strikes: ['frame-held-by-cut', 'retransmission-lost'],
  draw: (draw) => [{ kind: 'partition', ...draw.lasting, groups: drawGroups(draw) }],
  begin: (fault, { links }) => each(linksAcross(fault.groups), ([from, to]) => links.cut(from, to)),
  end: (fault, { links }) => each(linksAcross(fault.groups), ([from, to]) => links.mend(from, to)),
});

function drawGroups(draw: FaultDraw): string[][] {
  const { random, servers, clients } = draw;
  const drawn: [string[], string[]] = [[], []];
  const either = (): string[] => drawn[random.integer(2) === 0 ? 0 : 1];
  if (random.integer(2) === 0) {
    // One server alone, with or without a client; or one client without a server.
    const alone = oneOf(random, [draw.anyServer(), draw.anyClient()]);
    drawn[0].push(alone);
    for (const name of servers) if (name !== alone) drawn[1].push(name);
    either().push(draw.anyClient());
  } else {
    for (const name of [...servers, ...clients, STORE_HOST]) either().push(name);
  }
  return drawn;
}

function linksAcross(apart: readonly (readonly string[])[]): [string, string][] {
  return apart.flatMap((group, number) =>
    apart.flatMap((names, other) => {
      if (number === other) return [];
      return group.flatMap((from) => names.map((to): [string, string] => [from, to]));
    }),
  );
}
