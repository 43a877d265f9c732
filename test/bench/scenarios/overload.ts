// Three times the load that the gateway carries: the answer times of accepted turns and of refusals, and whether memory stays flat.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Child } from '../children.ts';
import type { Measurement } from '../figures/sheet.ts';
import { NATIVE_PATH } from '../relays/crew.ts';
import { KEY, startGateway, USUAL } from '../relays/gateway.ts';
import { cpuOf, residentOf } from '../relays/relay.ts';
import type { Stage } from '../stage.ts';
import { type Plan, requestOf } from '../wire.ts';

const RUNNER = fileURLToPath(new URL('processes/overload-runner.ts', import.meta.url));

export const OVERLOADED = 'at 3 times the load';
export const UNLOADED = 'at a third of the load';

/** Turns of 200 ms. */
const TURN: Plan = { deltas: 10, perSecond: 50 };
const TURN_SECONDS = TURN.deltas / TURN.perSecond;
/** With these numbers a turn waits at most half as long as it runs. */
const ADMISSION = { running: 64, waiting: 32, wait_ms: 10_000 };
/** The number of turns a second that the gateway carries. */
const CARRIED = ADMISSION.running / TURN_SECONDS;
/** The longest time for a refusal. A generator that is later than this lacks its own core, and measures the machine. */
const MOST_LATE_MS = 50;
/** The warm-up runs under overload too, so memory has grown to its size under overload. */
const WARM_SECONDS = 15;

/** The runner's output; times in milliseconds. */
export interface Offered {
  readonly accepted: number;
  readonly refused: number;
  /** Answers with a status other than 200 and 503, and requests without an answer. */
  readonly failed: number;
  readonly acceptedP50: number;
  readonly acceptedP99: number;
  /** The delay of the generator itself. */
  readonly lateP99: number;
  readonly refusedP50: number;
  readonly refusedP99: number;
}

export async function overload({ stage, effort, sheet }: Measurement): Promise<void> {
  const relay = await startGateway(stage, { ...USUAL, admission: { stream: ADMISSION } });
  const at = (factor: number, seconds: number): Promise<Offered> => offered(stage, relay.port, CARRIED * factor, seconds);
  await at(3, WARM_SECONDS);
  const unloaded = await at(1 / 3, effort.seconds * 5);
  const before = await residentOf(relay);
  const cpuBefore = cpuOf(relay);
  const overloaded = await at(3, effort.seconds * 15);
  const cpu = (cpuOf(relay) - cpuBefore) / 1e6 / (effort.seconds * 15);
  const after = await residentOf(relay);
  await relay.child.stop();
  const { accepted, refused } = overloaded;
  process.stderr.write(`overload: ${JSON.stringify({ carried: CARRIED, cpu, unloaded, overloaded })}\n`);
  if (unloaded.failed + unloaded.refused + overloaded.failed > 0) throw new Error('turns failed, or were refused without overload');
  // Fewer accepted turns would mean that the gateway, or the machine, did not carry what its slots allow.
  if (accepted < CARRIED * effort.seconds * 15 * 0.8 || refused === 0) throw new Error(`${accepted} turns accepted, ${refused} refused`);
  const late = Math.max(unloaded.lateP99, overloaded.lateP99);
  if (late > MOST_LATE_MS) throw new Error(`nothing was measured: the load itself was ${late.toFixed(0)} ms late on this machine`);
  sheet.add('accepted p99', UNLOADED, unloaded.acceptedP99);
  sheet.add('accepted p99', OVERLOADED, overloaded.acceptedP99);
  sheet.add('refused p99', OVERLOADED, overloaded.refusedP99);
  sheet.add('memory grown under overload', OVERLOADED, Math.max(0, after - before) / 1_048_576);
}

/** Offers this many turns a second, without waiting for their answers. */
async function offered(stage: Stage, port: number, perSecond: number, seconds: number): Promise<Offered> {
  const request = join(stage.directory, 'overload-request.json');
  writeFileSync(request, JSON.stringify(requestOf({ path: NATIVE_PATH, key: KEY, stream: TURN })));
  const options = [String(port), request, String(perSecond), String(seconds)];
  const child = new Child(stage.cores.pinned('load', [process.execPath, '--import', 'tsx/esm', RUNNER, ...options]));
  const [line] = await child.line(/^\{.*\}$/, (seconds + 60) * 1_000);
  return JSON.parse(line) as Offered;
}
