// Streams: processor time per event at the pace of a provider and at full speed, and the delay of a paced event.
import { cost } from '../cost.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { type Contender, crewOf, GATEWAY, GATEWAY_CAPPED, GATEWAY_CHAT, GATEWAY_MESSAGES } from '../relays/crew.ts';
import { KEY, STREAM_KEY } from '../relays/gateway.ts';
import { type Report, startLoad } from '../streams.ts';
import { type Plan, requestOf } from '../wire.ts';

const PACED = { connections: 200, plan: { deltas: 1_000_000, perSecond: 50 } };
export const FLAT = { connections: 8, plan: { deltas: 10_000, perSecond: 0 } };
const CHAT_PATH = '/v1/chat/completions';
const MESSAGES_PATH = '/v1/messages';

interface Streams {
  readonly connections: number;
  readonly plan: Plan;
}

export async function pacedStreams(measurement: Measurement): Promise<void> {
  const { stage, effort, sheet } = measurement;
  const crew = await crewOf(stage);
  // At full speed V8 compiles the code of streams fully within seconds.
  for (const contender of crew) await streamed(measurement, contender, FLAT, 'warm');
  await alternate(effort.runs, crew, async (contender) => {
    const { used, report } = await streamed(measurement, contender, PACED, 'paced');
    sheet.add('cpu per paced event', contender.name, used / report.events);
    sheet.add('paced event p99', contender.name, report.event_p99 / 1_000);
  });
}

export async function flatStreams(measurement: Measurement): Promise<void> {
  const { stage, effort, sheet } = measurement;
  const crew = await crewOf(stage);
  const capped = crew.filter(({ name }) => name === GATEWAY).map((native) => ({ ...native, name: GATEWAY_CAPPED }));
  await alternate(effort.runs, [...crew, ...capped], async (contender) => {
    const { used, report } = await streamed(measurement, contender, FLAT, 'flat');
    sheet.add('cpu per flat event', contender.name, used / report.events);
  });
}

/** Measures translated streams and native ones, at the pace of a provider and at full speed. */
export async function chatStreams(measurement: Measurement): Promise<void> {
  const { stage, effort, sheet } = measurement;
  const native = (await crewOf(stage)).find(({ name }) => name === GATEWAY) as Contender;
  const both = [native, { ...native, name: GATEWAY_CHAT, path: CHAT_PATH }];
  await alternate(effort.runs, both, async (contender) => {
    const flat = await streamed(measurement, contender, FLAT, 'chat');
    sheet.add('cpu per translated event', contender.name, flat.used / flat.report.events);
    const paced = await streamed(measurement, contender, PACED, 'chat-paced');
    sheet.add('cpu per paced translated event', contender.name, paced.used / paced.report.events);
  });
}

/** Measures streams on the two translated surfaces, at full speed. */
export async function messageStreams(measurement: Measurement): Promise<void> {
  const { stage, effort, sheet } = measurement;
  const native = (await crewOf(stage)).find(({ name }) => name === GATEWAY) as Contender;
  const both = [
    { ...native, name: GATEWAY_CHAT, path: CHAT_PATH },
    { ...native, name: GATEWAY_MESSAGES, path: MESSAGES_PATH },
  ];
  await alternate(effort.runs, both, async (contender) => {
    const { used, report } = await streamed(measurement, contender, FLAT, 'messages');
    sheet.add('cpu per event of a surface', contender.name, used / report.events);
  });
}

/** Measures a stretch of streams, without the time in which they began. */
export async function streamed(
  { stage, effort }: Measurement,
  { name, relay, path }: Contender,
  { connections, plan }: Streams,
  label: string,
): Promise<{ readonly used: number; readonly report: Report }> {
  const requests = [requestOf({ path, key: name === GATEWAY_CAPPED ? KEY : STREAM_KEY, stream: plan })];
  const loading = await startLoad(stage, { port: relay.port, requests, connections, warmSeconds: 1, seconds: effort.seconds });
  let report: Report | undefined;
  const used = await cost(stage, relay, `${label}-${name}`, async () => {
    report = await loading.report();
  });
  if (!report || report.errors > 0 || report.events === 0) throw new Error(`${name}: streams broke: ${JSON.stringify(report)}`);
  return { used, report };
}
