// The disasters of the nodes and their database while clients work. Each has a subject, and no two of the same subject run at once.
import { setTimeout as sleep } from 'node:timers/promises';
import type { SeededRandom } from '../../simulation/seeded-random.ts';
import { until } from '../../support/until.ts';
import { pick } from '../attack.ts';
import type { Cluster } from './cluster.ts';
import type { Member, Span } from './member.ts';
import { LOGINS } from './settings.ts';

/** `brief`: shorter than leases. `long`: some are longer. */
export type Length = 'brief' | 'long';

export interface Scene {
  readonly cluster: Cluster;
  /** The node to which it happens, if it happens to one. */
  readonly member: Member;
  readonly random: SeededRandom;
  readonly length: Length;
}

export interface Disaster {
  readonly name: string;
  readonly subject: 'node' | 'database' | 'feeds' | 'logins';
  /** Whether clients of this node have to go elsewhere, or wait. */
  readonly takesNode?: boolean;
  /** Resolves when the disaster is over. */
  run(scene: Scene): Promise<void>;
}

const SECOND = 1_000;
/** Durations after which leases have expired. The lease of a node lasts 30 s, that of a session 45 s. */
const PAST_LEASES_MS = [47 * SECOND, 60 * SECOND] as const;
const PAST_NODE_LEASE_MS = [31 * SECOND, 40 * SECOND] as const;
/** Durations after which a refresh has failed. A provider has 10 s to answer it. */
const PAST_REFRESH_MS = [11 * SECOND, 47 * SECOND] as const;
const AGAIN_MS = 8 * SECOND;
/** The longest time until a client needs the token. */
const REFRESH_MS = 10 * SECOND;
/** The time in which a load balancer notices a change. */
const NOTICED_MS = 500;

/** The duration of a disaster. A third of the long ones are longer than leases. */
function duration({ random, length }: Scene, past: readonly [number, number]): number {
  const [least, most] = length === 'long' && random.next() < 1 / 3 ? past : [0.3 * SECOND, (length === 'long' ? 12 : 3) * SECOND];
  return random.between(least, most);
}

async function paused(member: Member, ms: number): Promise<void> {
  member.pause();
  await sleep(NOTICED_MS);
  member.isServing = false;
  await sleep(ms);
  member.resume();
  member.isServing = true;
}

async function during(spans: Span[], act: () => Promise<void>): Promise<void> {
  const span = { from: performance.now(), to: Number.POSITIVE_INFINITY };
  spans.push(span);
  await act();
  span.to = performance.now();
}

/** Expires the tokens of an account. Resolves with the node that has sent its refresh token and has no answer yet. */
async function refreshing({ cluster, random }: Scene): Promise<Member | undefined> {
  const { record, members } = cluster;
  record.refreshMs = () => 3 * SECOND;
  const sent = record.refreshes;
  const account = pick(LOGINS, random);
  record.provider.loginOf(account).expire();
  const owner = async (): Promise<string | undefined> => {
    if (record.refreshes === sent) return undefined;
    const [lease] = await cluster.query(`SELECT owner FROM leases WHERE name = 'refresh/${account}' AND expires_at > 0`).catch(() => []);
    return lease && String(lease.owner).split('/')[0];
  };
  const node = await until('a refresh', owner, REFRESH_MS).catch(() => undefined);
  record.refreshMs = () => 0;
  return members.find(({ life, isServing }) => isServing && life.node === node);
}

async function databaseAway(scene: Scene, end: () => Promise<void>): Promise<void> {
  const { cluster, random, length } = scene;
  await during(cluster.outages, async () => {
    await end();
    // Sometimes longer than the leases, so that all nodes lose them.
    await sleep(random.next() < 0.5 ? 0 : duration({ ...scene, random, length }, PAST_NODE_LEASE_MS));
    await cluster.server.run();
  });
}

export const DISASTERS: readonly Disaster[] = [
  {
    name: 'node killed',
    subject: 'node',
    takesNode: true,
    async run({ member, random, length }) {
      await member.end('SIGKILL');
      await member.start(length === 'long' && random.next() < 0.5 ? 'same' : 'another');
    },
  },
  {
    name: 'node stopped in order',
    subject: 'node',
    takesNode: true,
    async run({ member }) {
      await member.end('SIGTERM');
      await member.start('same');
    },
  },
  {
    name: 'node paused',
    subject: 'node',
    takesNode: true,
    run: (scene) => paused(scene.member, duration(scene, PAST_LEASES_MS)),
  },
  {
    name: 'database killed',
    subject: 'database',
    run: (scene) => databaseAway(scene, () => scene.cluster.server.kill()),
  },
  {
    name: 'database restarted',
    subject: 'database',
    run: (scene) => databaseAway(scene, () => scene.cluster.server.end('SIGINT')),
  },
  {
    name: 'database crashed',
    subject: 'database',
    run: (scene) => databaseAway(scene, () => scene.cluster.server.end('SIGQUIT')),
  },
  {
    name: 'feeds cut',
    subject: 'feeds',
    async run({ cluster, random }) {
      for (let i = 0; i < 4; i++) {
        for (const { link } of cluster.members) link.cutFeeds();
        await sleep(random.between(50, 1_500));
      }
    },
  },
  {
    name: 'connections of a node cut',
    subject: 'node',
    run: ({ member, random }) =>
      during(member.cutOff, async () => {
        for (let i = 0; i < 4; i++) {
          member.link.cut();
          await sleep(random.between(0, 1_000));
        }
      }),
  },
  {
    name: 'answers of commits lost',
    subject: 'node',
    run: ({ member, random }) =>
      during(member.cutOff, async () => {
        for (let i = 0; i < 6; i++) {
          member.link.lostCommits = 1;
          await sleep(random.between(50, 500));
        }
        member.link.lostCommits = 0;
      }),
  },
  {
    name: 'node refused by its database',
    subject: 'node',
    run: (scene) =>
      during(scene.member.cutOff, async () => {
        const { link } = scene.member;
        link.refuses = true;
        link.cut();
        await sleep(duration(scene, PAST_NODE_LEASE_MS));
        link.refuses = false;
      }),
  },
  {
    name: 'network of a node stalled',
    subject: 'node',
    run: (scene) =>
      during(scene.member.cutOff, async () => {
        const { link } = scene.member;
        link.stop();
        await sleep(duration(scene, PAST_NODE_LEASE_MS));
        link.resume();
      }),
  },
  {
    name: 'tokens expired',
    subject: 'logins',
    async run({ cluster: { record }, random }) {
      record.refreshMs = () => random.between(0, 2 * SECOND);
      for (let i = 0; i < 3; i++) {
        for (const account of LOGINS) if (random.next() < 0.7) record.provider.loginOf(account).expire();
        await sleep(random.between(100, 1_500));
      }
      record.refreshMs = () => 0;
    },
  },
  {
    name: 'node paused within a refresh',
    subject: 'logins',
    takesNode: true,
    async run(scene) {
      const member = await refreshing(scene);
      const [least, most] = scene.length === 'long' ? PAST_REFRESH_MS : [0.3 * SECOND, 3 * SECOND];
      if (member) await paused(member, scene.random.between(least, most));
      // An account is not refreshed for 5 s after a failure.
      await sleep(scene.length === 'long' ? AGAIN_MS : 0);
    },
  },
  {
    name: 'node killed within a refresh',
    subject: 'logins',
    takesNode: true,
    async run(scene) {
      const member = await refreshing(scene);
      await member?.end('SIGKILL');
      await member?.start('another');
    },
  },
];
