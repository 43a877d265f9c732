// A turn on any path with any end: stated usage, unknown usage, broken off, refused by one account or by the gateway, or left by its
// client.
import { inTime } from '../../support/rehearsal-inbox.ts';
import { visit } from './client.ts';
import { type ClientRoute, ROUTES, type RouteName } from './client-routes.ts';
import { ending, failing, type Leaving, left } from './deliveries.ts';
import type { KeyName } from './stage.ts';
import type { Turns } from './turns.ts';

const ANY_KEY = ['open', 'limited', 'limited', 'tight', 'guest'] as const satisfies readonly KeyName[];

/** Resolves when the client has received the end, or has left. */
export async function randomTurn(turns: Turns, name: RouteName): Promise<void> {
  const { random, stage } = turns;
  const route: ClientRoute = ROUTES[name];
  const failures = random.pick([0, 0, 0, 0, 1, 1, 2, 3]);
  // A turn tries at most three accounts.
  const leaves = failures < 3 && random.roll() < 0.25 ? leavingOf(turns, route) : undefined;
  const { planned, key, asked } = turns.plan(route, random.pick(ANY_KEY), (id) => {
    const failed = Array.from({ length: failures }, () => failing(random, route.shape));
    if (failures === 3) return failed;
    return [...failed, leaves ? left(route.shape, id, leaves) : ending(random, route.shape, { id, endsCleanly: route.carrier === 'http' })];
  });
  const visiting = visit(stage, planned, { route, key, sent: route.send(asked), leaves });
  await inTime(visiting, () => `the end of turn ${planned.id}, ${name}, ${leaves ?? 'to its end'}: ${planned.arrived} attempts arrived`);
}

function leavingOf({ random }: Turns, { streams }: ClientRoute): Leaving {
  return streams && random.roll() < 0.6 ? 'after output' : 'at once';
}
