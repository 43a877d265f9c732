// The embeddings of a simulated account: a short vector computed from a digest of each input, in both encodings.
import { createHash } from 'node:crypto';
import { asList, type Json, type JsonObject } from '../../turn/json/json.ts';
import { SimulatedError } from '../provider-error.ts';
import { COUNT, list, object, RequestSchema, TEXT, words } from './request-schema.ts';
import { EMBEDDING_MODEL } from './simulated-model-lists.ts';

const tokens = list({ type: 'integer', minimum: 0 });
const MOST = { minItems: 1, maxItems: 2_048 };

const schema = new RequestSchema(
  object(
    {
      model: TEXT,
      input: { anyOf: [TEXT, list(TEXT, MOST), tokens, list(tokens, MOST)] },
      encoding_format: words('float', 'base64'),
      dimensions: COUNT,
    },
    ['model', 'input'],
  ),
);

const DIMENSIONS = 8;

/** @throws SimulatedError */
export function embeddings(body: JsonObject): JsonObject {
  schema.check(body);
  if (body.model !== EMBEDDING_MODEL) throw new SimulatedError(404, 'model_not_found', 'The requested model does not exist.', 'model');
  const inputs = inputsOf(body.input);
  const size = typeof body.dimensions === 'number' ? body.dimensions : DIMENSIONS;
  const data = inputs.map((input, index) => {
    const vector = vectorOf(JSON.stringify(input), size);
    return { object: 'embedding', index, embedding: body.encoding_format === 'base64' ? base64Of(vector) : [...vector] };
  });
  const used = inputs.reduce((sum: number, input) => sum + (Array.isArray(input) ? input.length : Math.ceil(String(input).length / 4)), 0);
  return { object: 'list', data, model: EMBEDDING_MODEL, usage: { prompt_tokens: used, total_tokens: used } };
}

/** The inputs of a request. A list of tokens is one input. */
function inputsOf(input: Json | undefined): readonly Json[] {
  return typeof input === 'string' || typeof asList(input)[0] === 'number' ? [input ?? ''] : asList(input);
}

function vectorOf(text: string, size: number): Float32Array {
  const bytes = createHash('sha256').update(text).digest();
  return Float32Array.from({ length: size }, (_, i) => (bytes.readUInt8(i % bytes.length) - 127.5) / 127.5);
}

const base64Of = ({ buffer }: Float32Array): string => Buffer.from(buffer).toString('base64');
