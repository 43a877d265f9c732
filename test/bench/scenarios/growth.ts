// Whether a turn costs more in a large configuration than in a small one.
import { cost } from '../cost.ts';
import { alternate, type Measurement, type Scenario } from '../figures/sheet.ts';
import { NATIVE_PATH } from '../relays/crew.ts';
import { keyNumber, type Size, startGateway } from '../relays/gateway.ts';
import type { Relay } from '../relays/relay.ts';
import { type Loading, type Report, startLoad } from '../streams.ts';
import { requestOf, type Wire } from '../wire.ts';

const CONNECTIONS = 64;
/** The first time V8 has to compile the code fully. */
const WARM_SECONDS = { first: 12, again: 4 };
/** The rate on a slow machine at which all keys and sessions have their first turn. */
const FIRST_TURNS_PER_SECOND = 3_000;

export const SMALL = 'small';
export const LARGE = 'large';

interface Extent extends Size {
  /** The number of sessions; each is pinned to the account of its first turn. */
  readonly sessions: number;
}

/** All pins of the largest extent are in memory, the sessions and what else their turns pin. */
const LIMITS = { pins_in_memory: 500_000 };
const USUAL: Extent = { accounts: 10, keys: 10, sessions: 1_000 };

interface Contender {
  readonly name: string;
  readonly relay: Relay;
  readonly requests: readonly Wire[];
}

/** @param figure the figure of the row @param small and large: how each differs from the usual size */
export function growth(figure: string, small: Partial<Extent>, large: Partial<Extent>): Scenario {
  return async ({ stage, effort, sheet }: Measurement) => {
    const contenders: Contender[] = [];
    for (const [name, extent] of [
      [SMALL, { ...USUAL, ...small }],
      [LARGE, { ...USUAL, ...large }],
    ] as const) {
      const requests = Array.from({ length: Math.max(extent.keys, extent.sessions) }, (_, i) =>
        requestOf({ path: NATIVE_PATH, key: keyNumber(i % extent.keys), session: `session-${i % extent.sessions}` }),
      );
      const { accounts, keys } = extent;
      contenders.push({ name, relay: await startGateway(stage, { accounts, keys, limits: LIMITS }), requests });
    }
    const loadOn = ({ relay, requests }: Contender, warmSeconds: number): Promise<Loading> =>
      startLoad(stage, { port: relay.port, requests, connections: CONNECTIONS, warmSeconds, seconds: effort.seconds });
    for (const contender of contenders) {
      const warming = await loadOn(contender, WARM_SECONDS.first + contender.requests.length / FIRST_TURNS_PER_SECOND);
      await warming.report();
    }
    await alternate(effort.runs, contenders, async (contender) => {
      const { name, relay } = contender;
      const loading = await loadOn(contender, WARM_SECONDS.again);
      let report: Report | undefined;
      const used = await cost(stage, relay, `${figure}-${name}`, async () => {
        report = await loading.report();
      });
      if (!report || report.errors > 0) throw new Error(`${figure}: ${report?.errors} requests failed`);
      sheet.add(figure, name, used / report.replies);
    });
    for (const { relay } of contenders) await relay.child.stop();
  };
}
