// Several nodes on one PostgreSQL. Their processes, networks and database fail while clients send calls to all of them (Q34).
import { setTimeout as sleep } from 'node:timers/promises';
import { SeededRandom } from '../../simulation/seeded-random.ts';
import { pick } from '../attack.ts';
import { Finding } from '../finding.ts';
import { drawCall } from '../nodes/calls.ts';
import { Clients, type Told } from '../nodes/clients.ts';
import { Cluster, NODES } from '../nodes/cluster.ts';
import { DISASTERS, type Disaster, type Length } from '../nodes/disasters.ts';
import { brokenInvariants } from '../nodes/invariants.ts';
import { comesToRest, logInAgain } from '../nodes/rest.ts';
import { KEY_NAMES, type KeyName } from '../nodes/settings.ts';
import type { OwnCase, OwnStage, StagedAttack } from '../own-stage.ts';

export const nodes: StagedAttack<NodesStage> = {
  name: 'nodes',
  title: 'several nodes and their database killed, paused and cut off under load',
  sample: 1,
  async open(scale) {
    const cluster = await Cluster.open();
    return {
      cluster,
      clients: CLIENTS[scale],
      notes: cluster.notes,
      get turns() {
        return cluster.turns;
      },
      close: () => cluster.close(),
    };
  },
  cases: casesOf,
};

interface NodesStage extends OwnStage {
  readonly cluster: Cluster;
  readonly clients: number;
}

const CLIENTS = { sample: 40, whole: 200 } as const;
/** The number of first cases of each seed in which one disaster happens that is shorter than leases. */
const BRIEF_CASES = 2;
/** The time before the first disaster, and after the last one. */
const QUIET_MS = 1_500;
/** The duration of a node's lease. */
const LEASE_MS = 29_000;
/** The time after which the slots of a node can be used again: its lease has expired, and other nodes have asked again. */
const SLOTS_BACK_MS = 35_000;
/** The longest cooldown of accounts without a token on a busy machine. */
const COOLDOWNS_MS = 60_000;
const PAUSE_MS = 500;
const LOGIN_CALLS = 6;

interface Planned {
  readonly disaster: Disaster;
  readonly node: number;
  readonly afterMs: number;
}

interface Plan {
  readonly seed: number;
  readonly length: Length;
  readonly happens: readonly Planned[];
}

function* casesOf(random: SeededRandom): Generator<OwnCase<NodesStage>> {
  for (let number = 0; ; number++) {
    const length = number < BRIEF_CASES ? 'brief' : 'long';
    const happens = planned(random, length);
    const seed = Math.floor(random.between(0, 1e9));
    const what = happens.map(({ disaster: { name, subject }, node }) => (subject === 'node' ? `${name} ${NODES[node]}` : name));
    yield { name: `${number}:${what.join(', ')}`, run: (stage) => run(stage, { seed, length, happens }) };
  }
}

/** One to three disasters. No two act on the same thing, and one node stays for the clients. */
function planned(random: SeededRandom, length: Length): readonly Planned[] {
  const happens: Planned[] = [];
  const count = length === 'brief' ? 1 : 1 + Math.floor(random.between(0, 3));
  while (happens.length < count) {
    const disaster = pick(DISASTERS, random);
    const node = Math.floor(random.between(0, NODES.length));
    const afterMs = happens.length === 0 ? 0 : random.between(0, 3_000);
    const { subject } = disaster;
    const clashes = happens.some((other) => other.disaster.subject === subject && (subject !== 'node' || other.node === node));
    const taken = happens.filter((other) => other.disaster.takesNode).length;
    if (!clashes && !(disaster.takesNode && taken === NODES.length - 1)) happens.push({ disaster, node, afterMs });
  }
  return happens;
}

async function run({ cluster, clients: count }: NodesStage, { seed, length, happens }: Plan): Promise<void> {
  const since = Date.now();
  cluster.loginsInDoubt = happens.some(({ disaster: { subject, takesNode } }) => subject === 'logins' && (takesNode || happens.length > 1));
  const keepsSlots = happens.some(({ disaster: { subject } }) => subject !== 'feeds');
  if (keepsSlots) cluster.slotsBackAt = Number.POSITIVE_INFINITY;
  const random = new SeededRandom(seed);
  const unknownBefore = await cluster.unknownOwners();
  const clients = new Clients(cluster.members, { count, seed, firstCall: cluster.nextCall });
  const began = performance.now();
  const happened: string[] = [];
  const happen = async ({ disaster, node, afterMs }: Planned): Promise<void> => {
    const own = new SeededRandom(Math.floor(random.between(0, 1e9)));
    await sleep(QUIET_MS + afterMs);
    const from = performance.now();
    await disaster.run({ cluster, member: cluster.memberAt(node), random: own, length });
    happened.push(`${disaster.name} ${NODES[node]}: from ${Math.round(from)} to ${Math.round(performance.now())}`);
  };
  try {
    await Promise.all(happens.map(happen));
    await sleep(QUIET_MS);
  } finally {
    await clients.stop();
  }
  const outlivedLeases = performance.now() - began > LEASE_MS;
  const told = [...clients.told];
  cluster.nextCall += told.length;
  const broken = [...(await comesToRest(cluster))];
  broken.push(...(await logInAgain(cluster)));
  const clean = await cleanCalls(cluster, clients, random);
  told.push(...clean.told);
  broken.push(...clean.broken);
  const ownersUnknown = [...(await cluster.unknownOwners())].some(([life, count]) => count > (unknownBefore.get(life) ?? 0));
  broken.push(...(await comesToRest(cluster)), ...(await brokenInvariants({ cluster, told, since, outlivedLeases, ownersUnknown })));
  if (keepsSlots) cluster.slotsBackAt = performance.now() + SLOTS_BACK_MS;
  cluster.forget();
  if (broken.length > 0) throw new Finding([...broken, ...happened].join('\n  '));
}

interface CleanCalls {
  readonly told: readonly Told[];
  readonly broken: readonly string[];
}

/** Checks that calls of every key are served, and those of accounts that were logged in again after their cooldowns. */
async function cleanCalls(cluster: Cluster, clients: Clients, random: SeededRandom): Promise<CleanCalls> {
  const told: Told[] = [];
  const call = async (key: KeyName): Promise<boolean> => {
    const one = await clients.call({ ...drawCall(cluster.nextCall++, random), kind: 'collected', key }, random);
    told.push(one);
    return one.outcome?.kind === 'whole';
  };
  for (const key of KEY_NAMES) await call(key);
  // Enough calls to reach each node very likely.
  for (
    let [served, end] = [0, performance.now() + COOLDOWNS_MS];
    cluster.loginsInDoubt && served < LOGIN_CALLS && performance.now() < end;
  ) {
    served = (await call('login')) ? served + 1 : 0;
    if (served === 0) await sleep(PAUSE_MS);
  }
  const isServed = !cluster.loginsInDoubt || told.at(-1)?.outcome?.kind === 'whole';
  return { told, broken: isServed ? [] : ['accounts that were logged in again do not serve'] };
}
