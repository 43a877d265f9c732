// A separate process that compresses the tool outputs of a turn of 1 MiB; real tools printed these outputs.
import type { Json, JsonObject } from '../../../../proxy/turn/json/json.ts';
import type { Body } from '../../../../proxy/turn/turn.ts';
import { requestCompression } from '../../../../rules/compression/request-compression.ts';
import { CORPUS_FILES, corpusText } from '../../../support/compression.ts';
import { phase, turnOf } from '../../../support/turns/turn.ts';
import type { CompressionCost } from '../compression.ts';

const BODY_BYTES = 1_000_000;

const [seconds = '1'] = process.argv.slice(2);

/** A body with as many complete outputs as fit, each after its call. */
function grown(): string {
  const input: JsonObject[] = [];
  const texts = CORPUS_FILES.map(corpusText);
  for (let size = 0, i = 0; size < BODY_BYTES; i++) {
    const output = texts[i % texts.length] as string;
    const call_id = `call-${i}`;
    const pair = [
      { type: 'function_call', call_id, name: 'shell', arguments: '{"command":"npm run check"}' },
      { type: 'function_call_output', call_id, output },
    ];
    size += JSON.stringify(pair).length;
    if (size < BODY_BYTES) input.push(...pair);
  }
  return JSON.stringify({ model: 'model-a', input });
}

const text = grown();
const edit = phase(requestCompression, 'edit');
/** For each step of a turn, the milliseconds that it took in each turn. */
const steps: number[][] = [];

async function compress(): Promise<void> {
  const body = JSON.parse(text) as Body & { input: readonly Json[] };
  let step = 0;
  let began = 0;
  const ended = (): void => {
    steps[step] ??= [];
    steps[step]?.push(performance.now() - began);
    step++;
  };
  const pause = async (): Promise<void> => {
    ended();
    await new Promise(setImmediate);
    began = performance.now();
  };
  const turn = { ...turnOf({ pool: { request_compression_enabled: true }, bodyBytes: text.length }), pause };
  began = performance.now();
  await edit({ body }, undefined, turn);
  ended();
  if (JSON.stringify(body).length === text.length) throw new Error('nothing was compressed');
}

const start = performance.now();
const warm = start + (Number(seconds) * 1_000) / 3;
while (performance.now() - start < Number(seconds) * 1_000) {
  await compress();
  if (performance.now() < warm) steps.length = 0;
}

// Every turn has the same steps: the median of each excludes other work on the core.
const typical = steps.map((times) => times.toSorted((a, b) => a - b)[times.length >> 1] as number);
const told: CompressionCost = { step: Math.max(...typical), turn: typical.reduce((total, step) => total + step, 0) };
console.log(JSON.stringify(told));
