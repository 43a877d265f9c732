// A turn of any path with any end: stated, unknown, broken off, refused at one account or at all, left by its client.
import { inTime } from '../../support/rehearsal-inbox.ts';
import { visit } from './client.ts';
import { ending, failing, type Leaving, left } from './deliveries.ts';
import { DOORS, type Door, type DoorName } from './doors.ts';
import type { KeyName } from './stage.ts';
import type { Turns } from './turns.ts';

const ANY_KEY = ['open', 'limited', 'limited', 'tight', 'guest'] as const satisfies readonly KeyName[];

/** Resolves when its client has seen the end, or has left. */
export async function randomTurn(turns: Turns, name: DoorName): Promise<void> {
  const { dice, stage } = turns;
  const door: Door = DOORS[name];
  const failures = dice.pick([0, 0, 0, 0, 1, 1, 2, 3]);
  // A Pool tries three accounts.
  const leaves = failures < 3 && dice.roll() < 0.25 ? leavingOf(turns, door) : undefined;
  const { planned, key, asked } = turns.plan(door, dice.pick(ANY_KEY), (id) => {
    const failed = Array.from({ length: failures }, () => failing(dice, door.shape));
    if (failures === 3) return failed;
    return [...failed, leaves ? left(door.shape, id, leaves) : ending(dice, door.shape, { id, endsCleanly: door.carrier === 'http' })];
  });
  const visiting = visit(stage, planned, { door, key, sent: door.send(asked), leaves });
  await inTime(visiting, () => `the end of turn ${planned.id}, ${name}, ${leaves ?? 'to its end'}: ${planned.arrived} attempts arrived`);
}

function leavingOf({ dice }: Turns, { streams }: Door): Leaving {
  return streams && dice.roll() < 0.6 ? 'after output' : 'at once';
}
