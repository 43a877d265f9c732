// A gateway and its accounts on one clock, whose time passes only when the test says so.
import type { RehearsalAccount } from '../../../proxy/rehearsal/account/simulated-account.ts';
import { ManualClock } from '../clocks/manual-clock.ts';
import { type GatewayOptions, startGateway, type TestGateway } from '../gateway.ts';

export interface Clocked extends AsyncDisposable {
  readonly gate: TestGateway;
  readonly clock: ManualClock;
}

export async function startClocked({ upstream, ...options }: Omit<GatewayOptions, 'clock'> = {}): Promise<Clocked> {
  const clock = new ManualClock();
  const gate = await startGateway({ ...options, clock, upstream: { ...upstream, clock } });
  return { gate, clock, [Symbol.asyncDispose]: () => gate.close() };
}

export interface UsageStage extends Pick<GatewayOptions, 'config' | 'store'> {
  /** By default `north` and `south`. */
  readonly accounts?: readonly (string | RehearsalAccount)[];
}

/** A gateway and accounts that send any usage. */
export const startUsage = ({ accounts = ['north', 'south'], ...options }: UsageStage = {}): Promise<Clocked> =>
  startClocked({ ...options, upstream: { accounts, strict: false } });
