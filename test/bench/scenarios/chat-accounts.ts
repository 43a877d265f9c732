// Turns at accounts that speak Chat Completions, compared with turns at agent accounts: processor time per event and per JSON turn.
import { costPerRequest } from '../cost.ts';
import { alternate, type Measurement } from '../figures/sheet.ts';
import { AGENT_ACCOUNT, CHAT_ACCOUNT, type Contender, NATIVE_PATH, V1_PATH } from '../relays/crew.ts';
import { startGateway, USUAL } from '../relays/gateway.ts';
import { type Stage, startUpstream } from '../stage.ts';
import { CHAT_ANSWERS } from '../wire-chat.ts';
import { jsonLoad, warmJson } from './json.ts';
import { FLAT, streamed } from './sse.ts';

/** Each gateway has accounts of one API. */
let gateways: Promise<readonly Contender[]> | undefined;

async function start(stage: Stage): Promise<readonly Contender[]> {
  const chat = await startUpstream(stage, CHAT_ANSWERS);
  return [
    { name: AGENT_ACCOUNT, relay: await startGateway(stage), path: NATIVE_PATH },
    { name: CHAT_ACCOUNT, relay: await startGateway(stage, { ...USUAL, chat }), path: NATIVE_PATH },
  ];
}

export async function chatAccountStreams(measurement: Measurement): Promise<void> {
  const { stage, effort, sheet } = measurement;
  gateways ??= start(stage);
  await alternate(effort.runs, await gateways, async (contender) => {
    const { used, report } = await streamed(measurement, contender, FLAT, 'chat-account');
    sheet.add('cpu per event of an account', contender.name, used / report.events);
  });
}

export async function chatAccountTurns({ stage, effort, sheet }: Measurement): Promise<void> {
  gateways ??= start(stage);
  const workers = (await gateways).map((contender) => ({ ...contender, path: V1_PATH }));
  for (const worker of workers) await warmJson(stage, worker);
  const add = ({ name }: Contender, microseconds: number): void => sheet.add('cpu per turn of an account', name, microseconds);
  const options = { label: 'chat-account-json', rounds: effort.rounds, workers };
  await costPerRequest(stage, options, (worker) => jsonLoad(stage, worker, 1), add);
}
